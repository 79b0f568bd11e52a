/*
 * Whatever a caller asks: every string of the request is in the walk once; on a route that redacts,
 * the word that is looked for is in no string that is looked at when the request leaves, the
 * request is JSON, JSON inside of its strings stays JSON, and a request without the word leaves as
 * it came.
 *
 *   byte 0   bits: completions, block, the detector tells no places, Messages, Responses
 *   then     the request
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/whole.h"
#include "io/loop.h"
#include "talk/unescape.h"
#include "task/asked.h"
#include "task/scratch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

enum { IS_TEXT = 1, BLOCKS = 2, IS_PLACELESS = 4, IS_MESSAGES = 8, IS_RESPONSES = 16 };

/* ---- a detector that finds "bad" ---- */

struct call {
    struct weir_detect_call base;
    struct weir_arena arena;
};

static bool is_placeless;

static bool has_word(struct weir_slice s)
{
    for (size_t i = 0; i + 3 <= s.n; i++) {
        if (memcmp(s.p + i, "bad", 3) == 0) {
            return true;
        }
    }
    return false;
}

static struct weir_detect_list find(struct call *call, struct weir_slice text)
{
    struct weir_detection *found = weir_arena_array(&call->arena, text.n / 3 + 1, sizeof *found);
    size_t n = 0;
    size_t cp = 0;
    for (size_t at = 0; at + 3 <= text.n; at++) {
        bool is_start = ((unsigned char)text.p[at] & 0xc0) != 0x80;
        if (memcmp(text.p + at, "bad", 3) == 0) {
            found[n++] = (struct weir_detection){.has_span = !is_placeless,
                                                 .start_cp = is_placeless ? 0 : cp,
                                                 .end_cp = is_placeless ? 0 : cp + 3,
                                                 .detection = WEIR_SLICE("word"),
                                                 .detection_type = WEIR_SLICE("word"),
                                                 .detector_id = WEIR_SLICE("d"),
                                                 .score = 1};
        }
        cp += is_start;
    }
    return (struct weir_detect_list){.items = found, .n = n};
}

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx)
{
    (void)env;
    (void)on_done;
    (void)ctx;
    struct call *call = weir_mem_zalloc(sizeof *call);
    struct weir_detect_list *lists =
        weir_arena_array(&call->arena, input->n_contents, sizeof *lists);
    for (size_t i = 0; i < input->n_contents; i++) {
        CHECK(weir_utf8_is_valid(input->contents[i]));
        lists[i] = find(call, input->contents[i]);
    }
    call->base = (struct weir_detect_call){
        .detector = d, .is_done = true, .lists = lists, .n_lists = input->n_contents};
    return &call->base;
}

static void free_call(struct weir_detect_call *base)
{
    struct call *call = (struct call *)base;
    weir_arena_dispose(&call->arena);
    free(call);
}

static const struct weir_detect_ops OPS = {.start = start, .free = free_call};

/* ---- what must hold of a walk ---- */

static void mark(const struct weir_json *json, const struct weir_walk_item *item, bool *is_marked)
{
    uint32_t from = item->key != WEIR_JSON_NONE ? item->key : item->node;
    for (uint32_t i = from; i < json->nodes[item->node].next; i++) {
        CHECK(!is_marked[i]);
        is_marked[i] = true;
    }
}

/* Names that a table knows are not in the walk; everything else is. */
static void check_all_are_there(const struct weir_json *json, const bool *is_marked)
{
    for (uint32_t i = 0; i < json->n_nodes; i++) {
        const struct weir_json_node *n = &json->nodes[i];
        struct weir_slice behind = weir_slice_sub(json->src, n->end, json->src.n);
        while (behind.n != 0 && strchr(" \t\r\n", behind.p[0]) != NULL && behind.p[0] != '\0') {
            behind = weir_slice_sub(behind, 1, behind.n);
        }
        bool is_name = n->type == WEIR_JSON_STRING && behind.n != 0 && behind.p[0] == ':';
        CHECK(n->type != WEIR_JSON_STRING || is_marked[i] || is_name);
    }
}

static void check_walk(const struct weir_json *json, const struct weir_walk *walk)
{
    bool *is_marked = weir_mem_array(json->n_nodes, sizeof *is_marked);
    for (size_t i = 0; i < walk->n; i++) {
        CHECK(i == 0 || walk->items[i].node > walk->items[i - 1].node);
        mark(json, &walk->items[i], is_marked);
    }
    check_all_are_there(json, is_marked);
    free(is_marked);
}

/* Is the word in a string that is looked at? */
static bool is_in_tree(const struct weir_json *json, uint32_t from, uint32_t until,
                       struct weir_arena *arena)
{
    for (uint32_t i = from; i < until; i++) {
        if (weir_json_type(json, i) == WEIR_JSON_STRING &&
            has_word(weir_json_string(json, i, arena))) {
            return true;
        }
    }
    return false;
}

static bool is_in_item(const struct weir_json *json, const struct weir_walk_item *item,
                       struct weir_arena *arena)
{
    struct weir_unescape u = {0};
    switch (item->kind) {
    case WEIR_WALK_TEXT:
        if (item->is_broken) {
            weir_unescape_read(&u, item->text, arena);
        }
        return has_word(item->text) || has_word(u.text);
    case WEIR_WALK_ENCODED:
    case WEIR_WALK_IDENTIFIER:
        return has_word(item->text);
    case WEIR_WALK_DOCUMENT:
        return is_in_tree(item->document, 0, item->document->n_nodes, arena);
    case WEIR_WALK_TREE:
        return is_in_tree(json, item->key != WEIR_JSON_NONE ? item->key : item->node,
                          json->nodes[item->node].next, arena);
    default:
        return false;
    }
}

static bool is_anywhere(const struct weir_json *json, const struct weir_walk *walk,
                        struct weir_arena *arena)
{
    for (size_t i = 0; i < walk->n; i++) {
        if (is_in_item(json, &walk->items[i], arena)) {
            return true;
        }
    }
    return false;
}

/* ---- one request ---- */

static struct weir_loop loop;

static void on_done(void *ctx, struct weir_scan *scan)
{
    CHECK(weir_scan_fault(scan) == NULL);
    *(bool *)ctx = true;
}

/* Turns of the loop without the kernel: nothing here waits for it. */
static void run_turns(const bool *is_done)
{
    while (!*is_done) {
        loop.end_of_turn.prepare_cb(&loop.end_of_turn);
    }
}

static const struct weir_walk_options walk_options = {.fallback = {"No.", 3},
                                                      .max_document_nodes = 1000};

static const struct weir_walk_dialect *dialect_of(uint8_t how)
{
    if ((how & IS_MESSAGES) != 0) {
        return &weir_walk_messages;
    }
    if ((how & IS_RESPONSES) != 0) {
        return &weir_walk_responses;
    }
    return (how & IS_TEXT) != 0 ? &weir_walk_completions : &weir_walk_chat;
}

/* What leaves is looked at again. */
static void check_sent(struct weir_slice sent, uint8_t how)
{
    struct weir_arena arena = {0};
    struct weir_json json;
    struct weir_walk walk;
    struct weir_json_limits limits = {.max_depth = UINT32_MAX};
    CHECK(weir_json_parse(&json, sent, &limits, &arena, NULL) == 0);
    weir_walk_read(&walk, dialect_of(how), &json, &walk_options, &arena);
    check_walk(&json, &walk);
    CHECK(!is_anywhere(&json, &walk, &arena));
    weir_arena_dispose(&arena);
}

static void ask(const struct weir_asked_options *o, struct weir_task_ctx *task, uint8_t how)
{
    struct weir_asked *asked = weir_asked_new(o);
    bool is_done = weir_asked_n_texts(asked) == 0;
    if (!is_done) {
        weir_asked_start(asked, task, on_done, &is_done);
        run_turns(&is_done);
    }
    struct weir_buf told = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &told);
    weir_asked_write(&w, asked);
    CHECK(weir_json_write_finish(&w) == 0);
    CHECK(!has_word(weir_buf_slice(&told)));
    weir_buf_dispose(&told);
    bool is_sent = weir_asked_outcome(asked) != WEIR_POLICY_BLOCKED;
    if (is_sent) {
        struct weir_json_edit e = {0};
        struct weir_buf sent = {0};
        weir_json_edit_begin(&e, o->json);
        weir_asked_edit(asked, &e);
        CHECK((e.n != 0) == (weir_asked_n_found(asked) != 0));
        weir_json_edit_write(&e, &sent);
        CHECK(e.n != 0 || weir_slice_eq(weir_buf_slice(&sent), o->json->src));
        check_sent(weir_buf_slice(&sent), how);
        weir_json_edit_dispose(&e);
        weir_buf_dispose(&sent);
    }
}

/* On a route with one detector. `json` is an object in the arena, which is disposed of here. */
static void look(struct weir_arena *arena, const struct weir_json *json, uint8_t how)
{
    struct weir_task_scratch scratch = {0};
    struct weir_detector detector = {.ops = &OPS, .id = WEIR_SLICE("d"), .takes_many = true};
    struct weir_task_detector described = {
        .id = detector.id, .detector = &detector, .chunker = &weir_chunk_whole};
    struct weir_plan_use use = {.d = &described, .params = WEIR_SLICE("{}")};
    struct weir_plan plan = {.uses = &use, .n = 1};
    struct weir_policy policy = {
        .action = (how & BLOCKS) != 0 ? WEIR_POLICY_BLOCK : WEIR_POLICY_REDACT,
        .redact_with = WEIR_SLICE("[{detection}]"),
        .unguarded = WEIR_HOLE_IMAGES | WEIR_HOLE_AUDIO | WEIR_HOLE_FILES | WEIR_HOLE_SEALED |
                     WEIR_HOLE_TOKEN_IDS | WEIR_HOLE_SERVER_HISTORY,
        .input_roles = 1u << WEIR_WALK_USER};
    struct weir_task_env env = {
        .max_detector_calls = 2, .max_chunker_calls = 2, .max_service_body_bytes = 1 << 20};
    struct weir_task_ctx task = {.env = &env, .loop = &loop, .arena = arena, .scratch = &scratch};
    struct weir_walk walk;
    is_placeless = (how & IS_PLACELESS) != 0;
    weir_walk_read(&walk, dialect_of(how), json, &walk_options, arena);
    check_walk(json, &walk);
    struct weir_asked_options o = {
        .arena = arena, .json = json, .walk = &walk, .policy = &policy, .plan = &plan};
    const char *why;
    if (weir_asked_check(&o, &why) == 0) {
        ask(&o, &task, how);
    }
    weir_arena_dispose(arena);
    weir_task_scratch_dispose(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool has_loop;
    if (!has_loop) {
        CHECK(weir_loop_init(&loop) == 0);
        has_loop = true;
    }
    if (size == 0) {
        return 0;
    }
    struct weir_arena arena = {0};
    struct weir_json json;
    struct weir_slice body = weir_slice_make((const char *)data + 1, size - 1);
    if (weir_json_parse(&json, body, NULL, &arena, NULL) == 0 &&
        weir_json_type(&json, 0) == WEIR_JSON_OBJECT) {
        look(&arena, &json, data[0]);
    }
    weir_arena_dispose(&arena);
    return 0;
}
