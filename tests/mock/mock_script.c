#include "mock/mock_script.h"

#include "base/err.h"
#include "base/utf8.h"
#include "wire/json_write.h"

enum {
    AFTER_TOKENS = 3, /* of text behind finish_reason */
    ARGUMENT_CP = 5,  /* code points of one fragment of arguments */
};

static const char REASONING[] = "The question is short, so the answer can be. Let me see.";
static const char REFUSAL[] = "I'm sorry, but I can't help with that.";
static const char ARGUMENTS[] =
    "{\"city\":\"Paris\",\"unit\":\"celsius\",\"note\":\"\xC3\xA0 midi\"}";

static bool has(const struct weir_mock_script *sc, enum weir_mock_scenario scenario)
{
    return weir_mock_settings_has(sc->set, scenario);
}

/* ---- preparation ---- */

static bool says_content(const struct weir_mock_script *sc)
{
    bool says_other = has(sc, WEIR_MOCK_TOOLS) || has(sc, WEIR_MOCK_REFUSAL);
    if (has(sc, WEIR_MOCK_EMPTY)) {
        return false;
    }
    return !sc->ask->is_chat || !says_other || has(sc, WEIR_MOCK_TEXT);
}

/* Fragments of a fixed length: where they are cut has no meaning. */
static void cut_arguments(struct weir_mock_script *sc, struct weir_slice text)
{
    size_t most = weir_utf8_count(text) / ARGUMENT_CP + 1;
    struct weir_mock_token *tokens = weir_arena_array(sc->arena, most, sizeof *tokens);
    size_t n = 0;
    for (; text.n != 0; n++) {
        struct weir_buf quoted = {0};
        size_t end = weir_utf8_byte_at(text, ARGUMENT_CP);
        tokens[n].plain = weir_slice_sub(text, 0, end);
        weir_json_write_quoted(&quoted, tokens[n].plain);
        tokens[n].quoted = weir_arena_dup(sc->arena, weir_buf_slice(&quoted));
        weir_buf_dispose(&quoted);
        text = weir_slice_sub(text, end, text.n);
    }
    sc->arguments = (struct weir_mock_text){tokens, n};
}

/* Texts of every choice out of `pieces`: one list for all, or a list of lists. */
static int read_pieces(struct weir_mock_script *sc, struct weir_mock_mistake *mistake)
{
    struct weir_json *j = weir_arena_alloc(sc->arena, sizeof *j);
    int rc = weir_json_parse(j, sc->set->pieces, NULL, sc->arena, NULL);
    bool is_list = rc == 0 && weir_json_type(j, 0) == WEIR_JSON_ARRAY;
    uint32_t at = is_list ? weir_json_first(j, 0) : WEIR_JSON_NONE;
    bool is_nested = at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_ARRAY;
    rc = is_list ? 0 : WEIR_EINVAL;
    for (uint32_t i = 0; rc == 0 && i < sc->ask->n; i++) {
        rc = weir_mock_text_list(&sc->choices[i].text, j, is_nested ? at : 0, sc->arena);
        uint32_t after = is_nested ? weir_json_after(j, 0, at) : WEIR_JSON_NONE;
        at = after != WEIR_JSON_NONE ? after : at;
    }
    if (rc != 0) {
        *mistake = (struct weir_mock_mistake){
            "`pieces`: expected a list of strings, or a list of such lists"};
    }
    return rc;
}

/* The server's own text begins elsewhere for every choice, so that no two say the same. */
static void cut_text(struct weir_mock_script *sc)
{
    const struct weir_mock_server *sv = sc->r->worker->server;
    bool is_echo = has(sc, WEIR_MOCK_ECHO);
    bool is_split = has(sc, WEIR_MOCK_SPLIT_UTF8);
    struct weir_slice text = is_echo ? sc->ask->last_text : sc->set->text;
    bool is_usual = !is_echo && text.p == sv->defaults.text.p;
    struct weir_mock_text cut = sv->text;
    if (!is_usual || is_split) {
        weir_mock_text_cut(&cut, text, is_split, sc->arena);
    }
    for (uint32_t i = 0; i < sc->ask->n; i++) {
        sc->choices[i].text = cut;
        sc->choices[i].first = is_usual ? i : 0;
    }
}

/* How many tokens of content a choice has, and why it ends. */
static void decide_length(struct weir_mock_script *sc, struct weir_mock_choice *ch)
{
    const struct weir_mock_ask *ask = sc->ask;
    size_t wanted = sc->set->tokens != WEIR_MOCK_UNSET ? sc->set->tokens : ch->text.n;
    wanted = ch->text.n != 0 && says_content(sc) ? wanted : 0;
    bool is_long = ask->max_tokens != WEIR_MOCK_UNSET && wanted > ask->max_tokens;
    bool calls_tools = ask->is_chat && has(sc, WEIR_MOCK_TOOLS);
    ch->n_tokens = is_long ? ask->max_tokens : wanted;
    const char *why = is_long ? "length" : calls_tools ? "tool_calls" : "stop";
    ch->finish = sc->set->finish.p != NULL ? sc->set->finish : weir_slice_cstr(why);
}

int weir_mock_script_init(struct weir_mock_script *sc, struct weir_http_stream *s,
                          const struct weir_mock_ask *ask, struct weir_mock_mistake *mistake)
{
    struct weir_mock_request *r = weir_mock_request_of(s);
    *sc = (struct weir_mock_script){.r = r, .set = &r->set, .ask = ask, .arena = &s->arena};
    sc->choices = weir_arena_array(&s->arena, ask->n, sizeof *sc->choices);
    sc->n_open = ask->n;
    sc->eol = has(sc, WEIR_MOCK_CRLF) ? WEIR_SLICE("\r\n") : WEIR_SLICE("\n");
    if (r->set.pieces.p != NULL && !has(sc, WEIR_MOCK_ECHO)) {
        int rc = read_pieces(sc, mistake);
        if (rc != 0) {
            return rc;
        }
    } else {
        cut_text(sc);
    }
    struct weir_slice arguments =
        sc->set->arguments.p != NULL ? sc->set->arguments : weir_slice_cstr(ARGUMENTS);
    if (ask->is_chat && (has(sc, WEIR_MOCK_TOOLS) || has(sc, WEIR_MOCK_ITEMS))) {
        cut_arguments(sc, arguments);
    }
    if (ask->is_chat && has(sc, WEIR_MOCK_REASONING)) {
        weir_mock_text_cut(&sc->reasoning, weir_slice_cstr(REASONING), false, &s->arena);
    }
    if (ask->is_chat && has(sc, WEIR_MOCK_REFUSAL)) {
        weir_mock_text_cut(&sc->refusal, weir_slice_cstr(REFUSAL), false, &s->arena);
    }
    for (uint32_t i = 0; i < ask->n; i++) {
        decide_length(sc, &sc->choices[i]);
    }
    return 0;
}

/* ---- parts ---- */

static void enter(struct weir_mock_choice *ch, enum weir_mock_phase phase)
{
    ch->phase = phase;
    ch->at = 0;
}

static bool say_role(const struct weir_mock_script *sc, struct weir_mock_choice *ch,
                     struct weir_mock_part *part)
{
    enter(ch, WEIR_MOCK_PHASE_REASONING);
    bool has_own = !has(sc, WEIR_MOCK_ROLE_NEVER) && !has(sc, WEIR_MOCK_ROLE_WITH_TEXT);
    part->say = WEIR_MOCK_SAY_CONTENT;
    part->token.quoted = WEIR_SLICE("\"\"");
    part->is_opening = true;
    return sc->ask->is_chat && has_own;
}

/* A token of a text that is said once. */
static bool say_once(struct weir_mock_choice *ch, const struct weir_mock_text *text,
                     enum weir_mock_phase then, struct weir_mock_part *part)
{
    if (ch->at == text->n) {
        enter(ch, then);
        return false;
    }
    part->token = text->tokens[ch->at];
    part->at = ch->at++;
    return true;
}

/* The text goes round. */
static void say_token(struct weir_mock_choice *ch, struct weir_mock_part *part)
{
    part->say = WEIR_MOCK_SAY_CONTENT;
    part->token = ch->text.tokens[(ch->first + ch->at) % ch->text.n];
    part->at = ch->at++;
    part->offset_cp = ch->offset_cp;
    ch->offset_cp += part->token.n_cp;
}

static bool say_content(const struct weir_mock_script *sc, struct weir_mock_choice *ch,
                        struct weir_mock_part *part)
{
    if (ch->at == ch->n_tokens) {
        enter(ch, WEIR_MOCK_PHASE_REFUSAL);
        return false;
    }
    say_token(ch, part);
    bool is_last = ch->at == ch->n_tokens;
    bool nothing_follows = sc->refusal.n == 0 && sc->arguments.n == 0;
    if (is_last && nothing_follows && has(sc, WEIR_MOCK_FINISH_WITH_TEXT)) {
        part->finish = ch->finish;
        enter(ch, WEIR_MOCK_PHASE_AFTER);
    }
    return true;
}

static bool say_tools(const struct weir_mock_script *sc, struct weir_mock_choice *ch,
                      struct weir_mock_part *part)
{
    bool has_tools = sc->ask->is_chat && has(sc, WEIR_MOCK_TOOLS);
    if (!has_tools || ch->tool == sc->set->tool_calls) {
        enter(ch, WEIR_MOCK_PHASE_FINISH);
        return false;
    }
    part->tool = ch->tool;
    part->say = ch->at == 0 ? WEIR_MOCK_SAY_TOOL : WEIR_MOCK_SAY_ARGUMENTS;
    if (ch->at != 0) {
        part->token = sc->arguments.tokens[ch->at - 1];
    }
    ch->at++;
    if (ch->at > sc->arguments.n) {
        ch->at = 0;
        ch->tool++;
    }
    return true;
}

static bool say_after(const struct weir_mock_script *sc, struct weir_mock_choice *ch,
                      struct weir_mock_part *part)
{
    bool has_more = has(sc, WEIR_MOCK_TEXT_AFTER_FINISH) && ch->text.n != 0;
    if (!has_more || ch->at == AFTER_TOKENS) {
        enter(ch, WEIR_MOCK_PHASE_OVER);
        return false;
    }
    say_token(ch, part);
    return true;
}

/* One phase has its say. False: it had nothing (more), and the next phase was entered. */
static bool say(const struct weir_mock_script *sc, struct weir_mock_choice *ch,
                struct weir_mock_part *part)
{
    switch (ch->phase) {
    case WEIR_MOCK_PHASE_ROLE:
        return say_role(sc, ch, part);
    case WEIR_MOCK_PHASE_REASONING:
        part->say = WEIR_MOCK_SAY_REASONING;
        return say_once(ch, &sc->reasoning, WEIR_MOCK_PHASE_CONTENT, part);
    case WEIR_MOCK_PHASE_CONTENT:
        return say_content(sc, ch, part);
    case WEIR_MOCK_PHASE_REFUSAL:
        part->say = WEIR_MOCK_SAY_REFUSAL;
        return say_once(ch, &sc->refusal, WEIR_MOCK_PHASE_TOOLS, part);
    case WEIR_MOCK_PHASE_TOOLS:
        return say_tools(sc, ch, part);
    case WEIR_MOCK_PHASE_FINISH:
        part->finish = ch->finish;
        enter(ch, WEIR_MOCK_PHASE_AFTER);
        return true;
    case WEIR_MOCK_PHASE_AFTER:
        return say_after(sc, ch, part);
    case WEIR_MOCK_PHASE_OVER:
        break;
    }
    return false;
}

static bool gets_role(const struct weir_mock_script *sc, const struct weir_mock_choice *ch,
                      const struct weir_mock_part *part)
{
    if (!sc->ask->is_chat || has(sc, WEIR_MOCK_ROLE_NEVER)) {
        return false;
    }
    return !ch->has_role || part->is_opening || has(sc, WEIR_MOCK_ROLE_EACH);
}

bool weir_mock_script_next(struct weir_mock_script *sc, uint32_t choice,
                           struct weir_mock_part *part)
{
    struct weir_mock_choice *ch = &sc->choices[choice];
    *part = (struct weir_mock_part){.choice = choice};
    while (!say(sc, ch, part)) {
        if (ch->phase == WEIR_MOCK_PHASE_OVER) {
            sc->n_open--;
            return false;
        }
        *part = (struct weir_mock_part){.choice = choice};
    }
    part->has_role = gets_role(sc, ch, part);
    ch->has_role = ch->has_role || part->has_role;
    sc->n_said += part->token.n_cp != 0 || part->say == WEIR_MOCK_SAY_ARGUMENTS;
    return true;
}
