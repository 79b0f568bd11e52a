#include "route/accept.h"

enum { FULL_WEIGHT = 1000 };

/* "0.5" as 500; what is no weight counts as none. */
static int weight_of(struct weir_slice value)
{
    int weight = 0;
    int unit = FULL_WEIGHT;
    for (size_t i = 0; i < value.n && i < 5; i++) {
        char c = value.p[i];
        if (i == 1 && c == '.') {
            continue;
        }
        if (c < '0' || c > '9') {
            return 0;
        }
        weight += (c - '0') * unit;
        unit /= 10;
    }
    return weight < FULL_WEIGHT ? weight : FULL_WEIGHT;
}

/* What follows the type: only the weight is of interest. */
static int weight_in(struct weir_slice params)
{
    while (params.n != 0) {
        struct weir_slice value = weir_slice_cut(&params, ';');
        struct weir_slice name = weir_slice_trim(weir_slice_cut(&value, '='));
        if (weir_slice_eq_nocase(name, WEIR_SLICE("q"))) {
            return weight_of(weir_slice_trim(value));
        }
    }
    return FULL_WEIGHT;
}

bool weir_accept_chooses(const struct weir_http_request *req, struct weir_slice first,
                         struct weir_slice second, bool *is_second)
{
    int best = 0;
    for (size_t i = 0; i < req->n_fields; i++) {
        struct weir_slice list = req->fields[i].value;
        if (!weir_slice_eq_nocase(req->fields[i].name, WEIR_SLICE("accept"))) {
            continue;
        }
        while (list.n != 0) {
            struct weir_slice params = weir_slice_cut(&list, ',');
            struct weir_slice type = weir_slice_trim(weir_slice_cut(&params, ';'));
            bool names_second = weir_slice_eq_nocase(type, second);
            int weight = weight_in(params);
            if ((names_second || weir_slice_eq_nocase(type, first)) && weight > best) {
                best = weight;
                *is_second = names_second;
            }
        }
    }
    return best != 0;
}
