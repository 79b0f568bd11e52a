/*
 * Messages and Responses: a marker in every string of the schema, at every depth, is looked at, and
 * what is not looked at is exactly what the samples leave without one.
 */
#include "talk/pointer.h"
#include "talk/walk.h"
#include "unit/cmocka_all.h"
#include "wire/json_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ' stands for ". A string with MRK is one that must be looked at; others are control members,
 * sealed or media. */
static const char MESSAGES[] =
    "{'model':'claude-x','max_tokens':5,'stream':false,'temperature':0.5,'stop_sequences':['MRK'],"
    "'system':[{'type':'text','text':'MRK','cache_control':{'type':'ephemeral','ttl':'5m'}}],"
    "'messages':["
    "{'role':'user','content':'MRK'},"
    "{'role':'system','content':[{'type':'text','text':'MRK'}]},"
    "{'role':'assistant','content':["
    "{'type':'thinking','thinking':'MRK','signature':'/v8B'},"
    "{'type':'thinking','thinking':'MRK'},"
    "{'type':'redacted_thinking','data':'/v8B'},"
    "{'type':'text','text':'MRK','citations':[{'type':'char_location','cited_text':'MRK',"
    "'document_title':'MRK','document_index':0,'start_char_index':0,'file_id':'f1'},"
    "{'type':'web_search_result_location','url':'MRK','title':'MRK','encrypted_index':'/v8B',"
    "'cited_text':'MRK','source':'MRK'}]},"
    "{'type':'tool_use','id':'toolu_1','name':'MRK','input':{'to':'MRK','n':[1,{'deep':'MRK'}]},"
    "'caller':{'type':'direct'}},"
    "{'type':'server_tool_use','id':'srv_1','name':'MRK','input':{'query':'MRK'}},"
    "{'type':'web_search_tool_result','tool_use_id':'srv_1','content':[{'type':"
    "'web_search_result','url':'MRK','title':'MRK','encrypted_content':'/v8B','page_age':'MRK'}]},"
    "{'type':'web_fetch_tool_result','tool_use_id':'srv_1','content':{'type':'web_fetch_result',"
    "'url':'MRK','retrieved_at':'MRK','content':{'type':'document','title':'MRK','source':{'type':"
    "'text','media_type':'text/plain','data':'MRK'}}}},"
    "{'type':'code_execution_tool_result','tool_use_id':'srv_1','content':{'type':"
    "'code_execution_result','stdout':'MRK','stderr':'MRK','return_code':0,'content':[{'type':"
    "'code_execution_output','file_id':'MRK'}]}},"
    "{'type':'tool_search_tool_result','tool_use_id':'srv_1','content':{'type':"
    "'tool_search_tool_search_result','tool_references':[{'type':'tool_reference','tool_name':"
    "'MRK'}]}},"
    "{'type':'mcp_tool_use','id':'m1','name':'MRK','server_name':'MRK','input':{}},"
    "{'type':'mcp_tool_result','tool_use_id':'m1','is_error':false,'content':[{'type':'text',"
    "'text':'MRK'}]},{'type':'compaction','content':'MRK'}]},"
    "{'role':'user','content':["
    "{'type':'tool_result','tool_use_id':'toolu_1','is_error':true,'content':'MRK'},"
    "{'type':'tool_result','tool_use_id':'toolu_1','content':'{\\'a\\':\\'MRK\\'}'},"
    "{'type':'tool_result','tool_use_id':'toolu_1','content':[{'type':'text','text':'MRK'},"
    "{'type':'image','source':{'type':'base64','media_type':'image/png','data':'/v8B'}},"
    "{'type':'search_result','source':'MRK','title':'MRK','content':[{'type':'text','text':"
    "'MRK'}],'citations':{'enabled':true}}]},"
    "{'type':'image','source':{'type':'url','url':'https://MRK.example/i.png'}},"
    "{'type':'document','title':'MRK','context':'MRK','source':{'type':'text','media_type':"
    "'text/plain','data':'MRK'}},"
    "{'type':'document','source':{'type':'base64','media_type':'application/pdf','data':'/v8B'}},"
    "{'type':'document','source':{'type':'content','content':[{'type':'text','text':'MRK'}]}},"
    "{'type':'document','source':{'type':'content','content':'MRK'}},"
    "{'type':'container_upload','file_id':'MRK'},"
    "'MRK',{'type':'text','text':'MRK'}]}],"
    "'tools':[{'type':'custom','name':'MRK','description':'MRK','input_schema':{'type':'object',"
    "'description':'MRK','properties':{'city':{'type':'string','enum':['MRK']}},'required':"
    "['MRK']},'input_examples':[{'a':'MRK'}],'strict':true},"
    "{'type':'web_search_20250305','name':'MRK','max_uses':3,'allowed_domains':['MRK'],"
    "'blocked_domains':['MRK'],'user_location':{'type':'approximate','city':'MRK','country':"
    "'MRK','region':'MRK','timezone':'MRK'}}],"
    "'tool_choice':{'type':'tool','name':'MRK','disable_parallel_tool_use':true},"
    "'thinking':{'type':'enabled','budget_tokens':5},"
    "'output_config':{'effort':'low','format':{'type':'json_schema','schema':{'description':"
    "'MRK'}}},'metadata':{'user_id':'MRK'},'service_tier':'auto','container':'c_1',"
    "'mcp_servers':[{'type':'url','name':'MRK','url':'https://MRK.example','authorization_token':"
    "'abc.def','tool_configuration':{'enabled':true,'allowed_tools':['MRK']}}],"
    "'cache_salt':'s','vllm_xargs':{'a':'MRK'},'chat_template_kwargs':{'a':'MRK'}}";

static const char RESPONSES[] =
    "{'model':'gpt-x','instructions':'MRK','stream':true,'store':false,'max_output_tokens':5,"
    "'input':["
    "{'role':'user','content':'MRK'},"
    "{'type':'message','role':'developer','content':[{'type':'input_text','text':'MRK'}]},"
    "{'type':'message','id':'msg_1','role':'assistant','status':'completed','phase':"
    "'final_answer','content':[{'type':'output_text','text':'MRK','annotations':[{'type':"
    "'url_citation','title':'MRK','url':'MRK','start_index':0,'end_index':1},{'type':"
    "'container_file_citation','filename':'MRK','file_id':'f1','container_id':'c1'}],'logprobs':"
    "[{'token':'MRK','logprob':0.5}]},{'type':'refusal','refusal':'MRK'}]},"
    "{'type':'reasoning','id':'rs_1','summary':[{'type':'summary_text','text':'MRK'}],'content':"
    "[{'type':'reasoning_text','text':'MRK'}],'encrypted_content':'/v8B','status':'completed'},"
    "{'type':'function_call','id':'fc_1','call_id':'call_1','name':'MRK','namespace':'MRK',"
    "'arguments':'{\\'to\\':\\'MRK\\'}','status':'completed','caller':{'type':'direct'}},"
    "{'type':'function_call_output','call_id':'call_1','output':'MRK'},"
    "{'type':'function_call_output','call_id':'call_1','output':[{'type':'input_text','text':"
    "'MRK'},{'type':'input_image','file_id':'MRK','detail':'low'},{'type':'input_file',"
    "'file_data':'/v8B','filename':'MRK'}]},"
    "{'type':'custom_tool_call','call_id':'c2','name':'MRK','input':'MRK'},"
    "{'type':'custom_tool_call_output','call_id':'c2','output':'MRK'},"
    "{'type':'local_shell_call','call_id':'c3','status':'completed','action':{'type':'MRK',"
    "'command':['MRK'],'env':{'A':'MRK'},'user':'MRK'}},"
    "{'type':'local_shell_call_output','id':'i1','output':'MRK'},"
    "{'type':'shell_call','call_id':'c4','action':{'commands':['MRK']}},"
    "{'type':'shell_call_output','call_id':'c4','output':[{'stdout':'MRK','stderr':'MRK',"
    "'outcome':{'type':'exit','exit_code':0}}],'max_output_length':5},"
    "{'type':'apply_patch_call','call_id':'c5','operation':{'path':'MRK','diff':'MRK'}},"
    "{'type':'apply_patch_call_output','call_id':'c5','output':'MRK','status':'completed'},"
    "{'type':'program','id':'p1','code':'MRK'},{'type':'program_output','result':'MRK'},"
    "{'type':'mcp_call','id':'m1','server_label':'MRK','name':'MRK','arguments':'MRK','output':"
    "'MRK','error':'MRK','approval_request_id':'a1'},"
    "{'type':'mcp_list_tools','id':'m2','server_label':'MRK','tools':[{'name':'MRK',"
    "'description':'MRK','input_schema':{'description':'MRK'},'annotations':{'t':'MRK'}}]},"
    "{'type':'mcp_approval_request','id':'a1','server_label':'MRK','name':'MRK','arguments':"
    "'{\\'a\\':\\'MRK\\'}'},"
    "{'type':'mcp_approval_response','approval_request_id':'a1','approve':true,'reason':'MRK'},"
    "{'type':'computer_call','call_id':'c6','action':{'text':'MRK'},'actions':[{'text':'MRK'}],"
    "'pending_safety_checks':[{'message':'MRK'}],'status':'completed'},"
    "{'type':'computer_call_output','call_id':'c6','output':{'type':'computer_screenshot',"
    "'image_url':'data:image/png;base64,/v8B'},'acknowledged_safety_checks':[{'message':'MRK'}]},"
    "{'type':'web_search_call','id':'w1','action':{'query':'MRK'},'status':'completed'},"
    "{'type':'file_search_call','id':'w2','queries':['MRK'],'results':[{'text':'MRK'}]},"
    "{'type':'code_interpreter_call','id':'w3','code':'MRK','container_id':'c1','outputs':"
    "[{'type':'logs','logs':'MRK'},{'type':'image','url':'https://MRK.example'}]},"
    "{'type':'image_generation_call','id':'w4','result':'/v8B','revised_prompt':'MRK'},"
    "{'type':'tool_search_call','call_id':'c7','execution':'client','arguments':{'q':'MRK'}},"
    "{'type':'tool_search_output','call_id':'c7','tools':[{'type':'function','name':'MRK'}]},"
    "{'type':'additional_tools','role':'developer','tools':[{'type':'function','description':"
    "'MRK'}]},"
    "{'type':'compaction','id':'x1','encrypted_content':'/v8B'},"
    "{'type':'item_reference','id':'msg_0'},"
    "{'role':'user','content':[{'type':'input_audio','input_audio':{'data':'/v8B','format':'wav'}},"
    "{'type':'input_image','image_url':'https://MRK.example','detail':'high'},"
    "{'type':'input_file','file_url':'https://MRK.example'},{'type':'input_text','text':'MRK'}]}],"
    "'tools':[{'type':'function','name':'MRK','description':'MRK','parameters':{'description':"
    "'MRK','type':'object'},'strict':true},"
    "{'type':'custom','name':'MRK','format':{'type':'grammar','syntax':'lark','definition':"
    "'MRK'}},"
    "{'type':'mcp','server_label':'MRK','server_url':'https://MRK.example','server_description':"
    "'MRK','authorization':'ey.x.y','headers':{'x-key':'Bearer a b'},'allowed_tools':['MRK'],"
    "'require_approval':'never'},"
    "{'type':'web_search','search_context_size':'low','user_location':{'type':'approximate',"
    "'city':'MRK'},'filters':{'allowed_domains':['MRK']}},"
    "{'type':'file_search','vector_store_ids':['MRK']},"
    "{'type':'shell','environment':{'type':'MRK'}}],"
    "'tool_choice':{'type':'allowed_tools','mode':'auto','tools':[{'type':'function','name':"
    "'MRK'}]},"
    "'text':{'format':{'type':'json_schema','name':'MRK','description':'MRK','schema':{'title':"
    "'MRK'},'strict':true},'verbosity':'low'},"
    "'reasoning':{'effort':'low','summary':'auto'},'include':['reasoning.encrypted_content'],"
    "'metadata':{'k':'MRK'},'user':'MRK','safety_identifier':'MRK','previous_response_id':"
    "'resp_1','conversation':{'id':'conv_1'},'prompt':{'id':'pmpt_1','version':'2','variables':"
    "{'a':'MRK','b':{'type':'input_text','text':'MRK'}}},'prompt_cache_key':'k','truncation':"
    "'auto','service_tier':'auto','stop':['MRK'],'moderation':{'model':'MRK'},"
    "'structured_outputs':{'regex':'MRK'},'chat_template_kwargs':{'a':'MRK'},'kv_transfer_params':"
    "{'a':['MRK']}}";

struct sample {
    const struct weir_walk_dialect *dialect;
    const char *text;
};

static const struct sample samples[] = {{&weir_walk_messages, MESSAGES},
                                        {&weir_walk_responses, RESPONSES}};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

struct reading {
    struct weir_arena arena;
    struct weir_json json;
    struct weir_walk walk;
};

static void read_json(struct reading *r, const struct weir_walk_dialect *dialect,
                      struct weir_slice text)
{
    static const struct weir_walk_options options = {.max_document_nodes = 10000,
                                                     .fallback = {"No.", 3}};
    assert_int_equal(weir_json_parse(&r->json, text, NULL, &r->arena, NULL), 0);
    weir_walk_read(&r->walk, dialect, &r->json, &options, &r->arena);
}

static void read_sample(struct reading *r, const struct weir_walk_dialect *dialect,
                        const char *text)
{
    *r = (struct reading){0};
    char *copy = weir_arena_alloc(&r->arena, strlen(text) + 1);
    for (size_t i = 0; i <= strlen(text); i++) {
        copy[i] = text[i];
        if (text[i] == '\'') {
            copy[i] = '"';
        }
    }
    read_json(r, dialect, weir_slice_cstr(copy));
}

static bool is_marked(struct weir_slice raw)
{
    return memmem(raw.p, raw.n, "MRK", 3) != NULL;
}

static const struct weir_walk_item *item_of(const struct reading *r, uint32_t node)
{
    for (size_t i = 0; i < r->walk.n; i++) {
        const struct weir_walk_item *item = &r->walk.items[i];
        uint32_t from = item->key != WEIR_JSON_NONE ? item->key : item->node;
        if (node >= from && node < r->json.nodes[item->node].next) {
            return item;
        }
    }
    return NULL;
}

static bool is_looked_at(const struct reading *r, uint32_t node)
{
    const struct weir_walk_item *item = item_of(r, node);
    return item != NULL && item->kind <= WEIR_WALK_IDENTIFIER;
}

static bool is_name(const struct weir_json *json, uint32_t node)
{
    struct weir_slice src = json->src;
    return json->nodes[node].end < src.n && src.p[json->nodes[node].end] == ':';
}

static void fail_at(struct reading *r, uint32_t node, const char *why)
{
    struct weir_slice path = weir_pointer_of(&r->json, node, &r->arena);
    fail_msg("%.*s %s", (int)path.n, path.p, why);
}

/* Every string in its place. */
static void check_strings(struct reading *r)
{
    for (uint32_t i = 0; i < r->json.n_nodes; i++) {
        if (weir_json_type(&r->json, i) != WEIR_JSON_STRING || is_name(&r->json, i)) {
            continue;
        }
        bool is_looked = is_looked_at(r, i);
        const struct weir_walk_item *item = item_of(r, i);
        if (is_marked(weir_json_raw(&r->json, i)) && !is_looked) {
            fail_at(r, i, "is not looked at");
        } else if (item == NULL) {
            fail_at(r, i, "is in no item");
        } else if (!is_marked(weir_json_raw(&r->json, i)) && item->kind <= WEIR_WALK_IDENTIFIER &&
                   item->kind != WEIR_WALK_TREE) {
            fail_at(r, i, "is looked at and the sample says that it need not be");
        }
        if (item->kind == WEIR_WALK_WRONG || item->kind == WEIR_WALK_REFUSED) {
            fail_at(r, i, item->why);
        }
    }
}

static void test_every_string(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct reading r;
        read_sample(&r, samples[i].dialect, samples[i].text);
        check_strings(&r);
        weir_arena_dispose(&r.arena);
    }
}

/* The sample with one edit, walked again. The edit is made to the node `at`. */
static void edit(const struct sample *sample, const struct reading *r, uint32_t at, bool is_object)
{
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    struct reading again = {0};
    weir_json_edit_begin(&e, &r->json);
    if (is_object) {
        weir_json_edit_set(&e, at, WEIR_SLICE("x_new"), WEIR_SLICE("{\"a\":[\"SEEK\"]}"));
    } else {
        weir_json_edit_replace_string(&e, at, WEIR_SLICE("SEEK no id"));
    }
    weir_json_edit_write(&e, &out);
    read_json(&again, sample->dialect, weir_buf_slice(&out));
    bool is_found = false;
    for (uint32_t i = 0; i < again.json.n_nodes; i++) {
        struct weir_slice raw = weir_json_raw(&again.json, i);
        if (weir_json_type(&again.json, i) == WEIR_JSON_STRING && raw.n > 5 &&
            memcmp(raw.p, "\"SEEK", 5) == 0) {
            is_found = true;
            if (!is_looked_at(&again, i)) {
                fail_at(&again, i, "is not looked at");
            }
        }
    }
    assert_true(is_found);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&out);
    weir_arena_dispose(&again.arena);
}

/* A control member is one only while it has its form. */
static void test_control_that_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct reading r;
        size_t n = 0;
        read_sample(&r, samples[i].dialect, samples[i].text);
        for (size_t k = 0; k < r.walk.n; k++) {
            const struct weir_walk_item *item = &r.walk.items[k];
            bool is_sealed = item->kind == WEIR_WALK_SEALED || item->kind == WEIR_WALK_MEDIA;
            if ((item->kind == WEIR_WALK_CONTROL || is_sealed) &&
                weir_json_type(&r.json, item->node) == WEIR_JSON_STRING) {
                edit(&samples[i], &r, item->node, false);
                n++;
            }
        }
        assert_true(n > 40);
        weir_arena_dispose(&r.arena);
    }
}

/* Headers for a server of tools are control while they are names and credentials. */
static void test_headers_that_are_none(void **state)
{
    static const struct {
        const char *headers;
        bool is_control;
    } cases[] = {{"{'x-key':'Bearer ey.x-y_z+/=='}", true},
                 {"{'x-key':'a','x-org':'acme:1'}", true},
                 {"{}", true},
                 {"{'x-note':'write to jane@example.org'}", false},
                 {"{'x-note':'jane@example.org'}", false},
                 {"{'x-note':'Bearer jane@example.org'}", false},
                 {"{'x-note':'4111 1111 1111 1111'}", false},
                 {"{'my name is Jane':'a'}", false},
                 {"{'jane@example.org':'a'}", false},
                 {"{'x-key':'Bearer  a'}", false},
                 {"{'x-key':'a','x-list':['a b']}", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading r;
        struct weir_buf text = {0};
        weir_buf_printf(&text, "{'model':'m','input':'a','tools':[{'type':'mcp','headers':%s}]}%c",
                        cases[i].headers, '\0');
        read_sample(&r, &weir_walk_responses, text.p);
        for (uint32_t k = 0; k < r.json.n_nodes; k++) {
            bool is_headers = weir_slice_eq(weir_json_raw(&r.json, k), WEIR_SLICE("\"headers\""));
            if (is_headers && is_looked_at(&r, k + 1) == cases[i].is_control) {
                fail_msg("%s", cases[i].headers);
            }
        }
        weir_arena_dispose(&r.arena);
        weir_buf_dispose(&text);
    }
}

/* A member that nobody knows, in every object. */
static void test_unknown_members_everywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        struct reading r;
        read_sample(&r, samples[i].dialect, samples[i].text);
        for (uint32_t k = 0; k < r.json.n_nodes; k++) {
            if (weir_json_type(&r.json, k) == WEIR_JSON_OBJECT) {
                edit(&samples[i], &r, k, true);
            }
        }
        weir_arena_dispose(&r.arena);
    }
}

/* ---- who says what ---- */

static void says(const struct weir_walk_dialect *dialect, const char *text, const char *want)
{
    struct reading r;
    struct weir_buf out = {0};
    read_sample(&r, dialect, text);
    for (size_t i = 0; i < r.walk.n; i++) {
        const struct weir_walk_item *item = &r.walk.items[i];
        if (item->kind != WEIR_WALK_CONTROL) {
            struct weir_slice path = weir_pointer_of(&r.json, item->node, &r.arena);
            weir_buf_printf(&out, "%.*s %s%s%s\n", (int)path.n, path.p,
                            weir_walk_role_name(item->role), item->is_turn ? " turn" : "",
                            item->kind == WEIR_WALK_IDENTIFIER ? " name" : "");
        }
    }
    assert_string_equal(weir_buf_cstr(&out), want);
    weir_buf_dispose(&out);
    weir_arena_dispose(&r.arena);
}

static void test_roles_of_messages(void **state)
{
    (void)state;
    says(&weir_walk_messages,
         "{'system':'s','messages':[{'role':'user','content':'a'},"
         "{'role':'assistant','content':[{'type':'thinking','thinking':'t','signature':'/v8B'},"
         "{'type':'text','text':'b'},{'type':'tool_use','id':'i','name':'n','input':{'x':1}}]},"
         "{'role':'user','content':[{'type':'tool_result','tool_use_id':'i','content':'r'},"
         "{'type':'document','source':{'type':'text','data':'d'}},{'type':'text','text':'q'}]}]}",
         "/system system\n/messages/0/content user\n"
         "/messages/1/content/0/thinking assistant name\n"
         "/messages/1/content/0/signature assistant\n/messages/1/content/1/text assistant\n"
         "/messages/1/content/2/name assistant name\n/messages/1/content/2/input assistant\n"
         "/messages/2/content/0/content tool turn\n"
         "/messages/2/content/1/source/data tool turn\n/messages/2/content/2/text user turn\n");
    /* Results that nobody speaks beside are a tool's: the turn is all behind the assistant. */
    says(&weir_walk_messages,
         "{'messages':[{'role':'assistant','content':'a'},{'role':'user','content':'q'},"
         "{'role':'user','content':[{'type':'tool_result','content':'r'}]}]}",
         "/messages/0/content assistant\n/messages/1/content user turn\n"
         "/messages/2/content/0/content tool turn\n");
    says(&weir_walk_messages,
         "{'messages':[{'role':'user','content':'q'},"
         "{'role':'assistant','content':[{'type':'text','text':'No.'}]}]}",
         "/messages/0/content user\n/messages/1/content/0/text assistant turn\n");
}

static void test_roles_of_responses(void **state)
{
    (void)state;
    says(&weir_walk_responses, "{'input':'q','instructions':'s'}",
         "/input user turn\n/instructions system\n");
    says(&weir_walk_responses,
         "{'input':[{'role':'user','content':'q'},{'type':'reasoning','summary':[{'text':'t'}]},"
         "{'type':'function_call','name':'n','arguments':'{}'},"
         "{'type':'function_call_output','output':'r'}]}",
         "/input/0/content user\n/input/1/summary/0/text assistant\n/input/2/name assistant name\n"
         "/input/2/arguments assistant\n/input/3/output tool turn\n");
    says(&weir_walk_responses,
         "{'input':[{'type':'mcp_call','arguments':'a','output':'r'},"
         "{'type':'compaction','content':'c'},{'role':'user','content':'q'},"
         "{'type':'item_reference','id':'m'},{'type':'no_such','y':'z'}],"
         "'prompt':{'variables':{'v':'w'}}}",
         "/input/0/arguments assistant\n/input/0/output tool\n/input/1/content nobody\n"
         "/input/2/content user\n/input/4/type user turn\n/input/4/y user turn\n"
         "/prompt/variables/v user turn name\n/prompt/variables/v user turn\n");
}

/* What the server keeps cannot be looked at: it passes where server_history is left open. */
static void test_state(void **state)
{
    (void)state;
    struct reading r;
    size_t n = 0;
    read_sample(&r, &weir_walk_responses,
                "{'input':[{'type':'item_reference','id':'m'}],'previous_response_id':'r',"
                "'conversation':'c','prompt':{'id':'p'}}");
    for (size_t i = 0; i < r.walk.n; i++) {
        n += r.walk.items[i].media == WEIR_HOLE_SERVER_HISTORY;
    }
    assert_int_equal(n, 4);
    weir_arena_dispose(&r.arena);
}

static size_t n_documents(const struct weir_walk_dialect *dialect, const char *text)
{
    struct reading r;
    size_t n = 0;
    read_sample(&r, dialect, text);
    for (size_t i = 0; i < r.walk.n; i++) {
        n += r.walk.items[i].kind == WEIR_WALK_DOCUMENT;
    }
    weir_arena_dispose(&r.arena);
    return n;
}

/* What a tool printed may be JSON, whose strings have escapes of their own. */
static void test_what_tools_print_is_read(void **state)
{
    (void)state;
    assert_int_equal(n_documents(&weir_walk_messages,
                                 "{'messages':[{'role':'assistant','content':[{'type':"
                                 "'code_execution_tool_result','tool_use_id':'i','content':{"
                                 "'stdout':'{\\'a\\':\\'b\\'}','stderr':'[\\'c\\']'}}]}]}"),
                     2);
    assert_int_equal(n_documents(&weir_walk_responses,
                                 "{'input':[{'type':'shell_call_output','call_id':'i','output':[{"
                                 "'stdout':'{\\'a\\':\\'b\\'}','stderr':'[\\'c\\']'}]},"
                                 "{'type':'code_interpreter_call','id':'w','outputs':[{'type':"
                                 "'logs','logs':'{\\'a\\':\\'b\\'}'}]}]}"),
                     3);
}

/* Results inside of results end somewhere, and what is deeper is refused where that matters. */
static void test_depth(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    struct reading r = {0};
    weir_buf_append(&text, WEIR_SLICE("{\"messages\":[{\"content\":["));
    for (int i = 0; i < 28; i++) {
        weir_buf_append(&text, WEIR_SLICE("{\"type\":\"tool_result\",\"content\":["));
    }
    weir_buf_append(&text, WEIR_SLICE("\"deep\""));
    for (int i = 0; i < 28; i++) {
        weir_buf_append(&text, WEIR_SLICE("]}"));
    }
    weir_buf_append(&text, WEIR_SLICE("]}]}"));
    read_json(&r, &weir_walk_messages, weir_buf_slice(&text));
    assert_int_equal(r.walk.items[r.walk.n - 1].kind, WEIR_WALK_WRONG);
    assert_true(item_of(&r, r.json.n_nodes - 1) == &r.walk.items[r.walk.n - 1]);
    weir_buf_dispose(&text);
    weir_arena_dispose(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_string),
        cmocka_unit_test(test_control_that_is_none),
        cmocka_unit_test(test_headers_that_are_none),
        cmocka_unit_test(test_unknown_members_everywhere),
        cmocka_unit_test(test_roles_of_messages),
        cmocka_unit_test(test_roles_of_responses),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_what_tools_print_is_read),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
