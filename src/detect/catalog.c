#include "detect/catalog.h"

#include "base/map.h"
#include "detect/injection_int.h"
#include "detect/secrets_int.h"

struct entry {
    const char *kind;
    const char *name;
    const char *about;
};

static const struct entry entries[] = {
    {"regex", "email", "E-mail addresses"},
    {"regex", "credit-card", "Payment card numbers: issuer, length and check digit are right"},
    {"regex", "ipv4", "Public IPv4 addresses"},
    {"regex", "ipv6", "Public IPv6 addresses"},
    {"regex", "phone", "Telephone numbers of the world"},
    {"regex", "us-phone-number", "Another name of `phone`"},
    {"regex", "us-ssn", "Social security and taxpayer numbers of the United States"},
    {"regex", "us-social-security-number", "Another name of `us-ssn`"},
    {"regex", "uk-post-code", "British postcodes"},
    {"regex", "iban", "International bank account numbers: length and check digits are right"},
    {"regex", "es-nif", "Spanish identity numbers"},
    {"regex", "es-nie", "Spanish identity numbers of foreigners"},
    {"regex", "pl-pesel", "Polish identity numbers"},
    {"regex", "it-fiscal-code", "Italian tax codes"},
    {"regex", "in-aadhaar", "Indian identity numbers"},
    {"regex", "in-pan", "Indian tax numbers"},
    {"regex", "uk-nhs", "British health service numbers"},
    {"regex", "uk-nino", "British national insurance numbers"},
    {"regex", "ca-sin", "Canadian social insurance numbers"},
    {"regex", "de-tax-id", "German tax identification numbers"},
    {"regex", "fr-nir", "French social security numbers"},
    {"regex", "br-cpf", "Brazilian tax numbers of people"},
    {"regex", "br-cnpj", "Brazilian tax numbers of firms"},
    {"regex", "ch-ahv", "Swiss social security numbers"},
    {"regex", "nl-bsn", "Dutch citizen service numbers"},
    {"regex", "se-personnummer", "Swedish identity numbers"},
    {"regex", "au-tfn", "Australian tax file numbers"},
    {"regex", "au-abn", "Australian business numbers"},
    {"regex", "bitcoin-address", "Bitcoin addresses: the check sum is right"},
    {"regex", "ethereum-address", "Ethereum addresses"},
    {"regex", "mac-address", "Hardware addresses of network cards"},
    {"regex", "bic", "Bank identifier codes after a word for them"},
    {"regex", "vin", "Vehicle identification numbers: the check digit is right"},
    {"regex", "$CUSTOM_REGEX", "Any other text is a regular expression of the caller's own"},
    {"file_type", "json", "Texts that are not valid JSON"},
    {"file_type", "yaml", "Texts that are not valid YAML"},
    {"file_type", "xml", "Texts that are not well-formed XML"},
    {"file_type", "json-with-schema:$SCHEMA",
     "Texts that are no JSON as this JSON Schema wants it"},
    {"file_type", "yaml-with-schema:$SCHEMA",
     "Texts that are no YAML as this JSON Schema wants it"},
    {"file_type", "xml-with-schema:$SCHEMA", "Texts that are no XML as this XML Schema wants it"},
    {"secrets", "private_key", "Private keys between their BEGIN and END lines"},
    {"secrets", "jwt", "JSON web tokens whose header reads as one"},
    {"secrets", "basic_auth_url", "URLs with a name and a password in them"},
    {"secrets", "basic_auth_header", "A name and a password after `Authorization: Basic`"},
    {"secrets", "bearer_token", "Tokens after `Bearer` that look random"},
    {"secrets", "azure_sas_signature", "Signatures of Azure's shared access URLs"},
    {"secrets", "airtable_token", "Airtable tokens"},
    {"secrets", "mailchimp_api_key", "Mailchimp keys"},
    {"secrets", "telegram_bot_token", "Tokens of Telegram bots"},
    {"secrets", "discord_token", "Tokens of Discord bots"},
    {"secrets", "terraform_token", "Terraform Cloud tokens"},
    {"secrets", "azure_client_secret", "Client secrets of Azure applications"},
    {"secrets", "gcp_service_account", "Google Cloud service account files with their key"},
    {"secrets", "password", "Passwords given by name"},
    {"secrets", "aws_secret_access_key", "Secret access keys of Amazon's cloud"},
    {"secrets", "heroku_api_key", "Heroku keys"},
    {"secrets", "twitter_bearer_token", "Tokens of Twitter's applications"},
    {"secrets", "firebase_server_key", "Server keys of Google's cloud messaging"},
    {"secrets", "maxmind_license_key", "MaxMind licence keys"},
    {"secrets", "teams_webhook", "Addresses that post to a channel of Microsoft Teams"},
    {"secrets", "kubernetes_secret", "Entries of a Kubernetes manifest, after its `kind: Secret`"},
    {"secrets", "datadog_key", "Datadog keys"},
    {"secrets", "high_entropy_assignment",
     "Names such as `api_key` with a value that looks random"},
    {"keywords", "deny", "Words and phrases of this list, in any case, whole words only"},
    {"keywords", "allow", "Phrases of this list hide the denied words in them"},
    {"links", "url", "Web addresses outside the hosts of `allow`"},
    {"links", "markdown_image", "Images in markdown, which are fetched without a click"},
    {"links", "html_image", "Images in HTML, which are fetched without a click"},
    {"links", "script_url", "Links that run a script"},
    {"unicode", "invisible", "Characters that nobody sees"},
    {"unicode", "bidi_control", "Controls that make a text read in another order"},
    {"unicode", "homoglyph", "Letters that look like those of another script"},
    {"unicode", "zalgo", "Letters buried under marks"},
};

static void put(struct weir_json_write *w, struct weir_map *seen, const char *name,
                const char *about)
{
    struct weir_slice key = weir_slice_cstr(name);
    if (!weir_map_has(seen, key)) {
        weir_map_put(seen, key, seen);
        weir_json_write_key(w, key);
        weir_json_write_string(w, weir_slice_cstr(about));
    }
}

/* The vendors' shapes are rows of their own; several share a kind. */
static void put_shapes(struct weir_json_write *w, struct weir_map *seen)
{
    const struct weir_secret_shapes *shapes = weir_secrets__shapes();
    for (size_t i = 0; i < shapes->n; i++) {
        put(w, seen, shapes->items[i].kind, "A vendor's key or token, by prefix and shape");
    }
}

/* As data/injection.rules names them. */
static void put_families(struct weir_json_write *w)
{
    struct weir_injection_data data;
    struct weir_buf why = {0};
    if (weir_injection__data_read(&data, weir_injection__text(), &why) == 0) {
        for (size_t i = 0; i < data.n_families; i++) {
            weir_json_write_key(w, data.families[i].name);
            weir_json_write_string(w, data.families[i].about);
        }
    }
    weir_injection__data_dispose(&data);
    weir_buf_dispose(&why);
}

void weir_catalog_write(struct weir_json_write *w, const char *kind)
{
    struct weir_map seen = {0};
    weir_json_write_begin_object(w);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(entries[i].kind, kind) == 0) {
            put(w, &seen, entries[i].name, entries[i].about);
        }
    }
    if (strcmp(kind, "secrets") == 0) {
        put_shapes(w, &seen);
    } else if (strcmp(kind, "prompt_injection") == 0) {
        put_families(w);
    }
    weir_json_write_end_object(w);
    weir_map_dispose(&seen);
}
