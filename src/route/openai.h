#ifndef WEIR_ROUTE_OPENAI_H
#define WEIR_ROUTE_OPENAI_H

#include "http/stream.h"
#include "task/policy.h"

/*
 * OpenAI's own endpoints behind a route: /v1/… and /{route}/v1/…. The request's `guarded` says
 * which.
 */
void weir_openai_begin_chat(void *env, struct weir_http_stream *s);
void weir_openai_begin_text(void *env, struct weir_http_stream *s);

/* The route's policy, with what is seen of this request; in the request's arena. */
struct weir_request;
const struct weir_policy *weir_openai_policy(struct weir_request *request);

/* Declares what routes count. Once, before any request. */
void weir_openai_declare(void);

/* Fills in the policy's counters. */
void weir_openai_count_for(struct weir_policy *policy, struct weir_slice route);

/* weir_mask_foreign_tokens_total of a route. */
struct weir_metric_counter weir_openai_count_foreign(struct weir_slice route);

struct weir_asked;
struct weir_json;
struct weir_walk_dialect;

/* Finds everything in a question that is to be looked at. False: it has something that the route
 * does not let in, and was answered. `*asked` stays NULL where nobody looks. */
bool weir_openai_read_question(struct weir_http_stream *s, const struct weir_json *json,
                               const struct weir_walk_dialect *dialect, struct weir_asked **asked);

/* Today's canary word of the request's route; none: it has none, or its words are given. */
struct weir_slice weir_openai_canary(const struct weir_request *request);

/* The route's detectors for the model that the request names, those of the output with that word.
 * `json` NULL: nobody knows which model it was, so all of them. */
struct weir_plan weir_openai_input(const struct weir_request *request,
                                   const struct weir_json *json);
struct weir_plan weir_openai_output(const struct weir_request *request,
                                    const struct weir_json *json);

#endif
