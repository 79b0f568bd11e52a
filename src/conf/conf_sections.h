#ifndef WEIR_CONF_SECTIONS_H
#define WEIR_CONF_SECTIONS_H

#include "conf/conf_schema.h"

/* The sections of the file, one function each, for the root's table. Inside conf only. */

/* `tls:`, a mapping of names; must come before any service. */
void weir_conf__tls_section(struct weir_conf_reader *r, const struct weir_conf_node *n, void *conf);

/* A service; NULL when it is not even a mapping. */
const struct weir_conf_service *weir_conf__service(struct weir_conf_reader *r,
                                                   const struct weir_conf_node *n, const char *key,
                                                   uint32_t default_port);

/* For objects that begin with a service: what it says when nothing is written, its `tls` (a name or
 * the settings), TLS with the system's authorities, and whether a text can be a host. */
void weir_conf__service_defaults(struct weir_conf_service *service);
void weir_conf__on_service_tls(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *service);
const struct weir_conf_tls *weir_conf__system_tls(struct weir_conf_reader *r,
                                                  const struct weir_conf_node *at);
bool weir_conf__is_host(const char *text);

/* Is the service this very gateway? Complains at `n`. */
void weir_conf__check_not_ourselves(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                    const struct weir_conf_service *s);

/* Visible ASCII: what a header can carry as a token. */
bool weir_conf__is_token(struct weir_slice value);
bool weir_conf__is_header_name(struct weir_slice name);
/* Does a header belong to one connection or one body (host, content-length, …)? In lower case. */
bool weir_conf__is_unforwardable(struct weir_slice name);

void weir_conf__openai_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf);
void weir_conf__chat_generation_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                        void *conf);
void weir_conf__chat_completions_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                         void *conf);
void weir_conf__generation_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                   void *conf);
void weir_conf__providers_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  void *conf);
void weir_conf__models_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf);
void weir_conf__chunkers_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                 void *conf);
void weir_conf__detectors_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  void *conf);
/* Of a detector that is a service (conf_protocol.c). */
extern const char *const weir_conf__protocols[];
extern const struct weir_conf_object weir_conf__batch_object;
void weir_conf__batch_defaults(struct weir_conf_detector *d);
void weir_conf__on_labels(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target);
void weir_conf__on_messages(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target);
void weir_conf__on_positive(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target);
void weir_conf__on_entities(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target);
void weir_conf__on_detector_provider(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                     void *target);
void weir_conf__check_protocol(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               const struct weir_conf_detector *d);
void weir_conf__cache_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              void *conf);
void weir_conf__cache_defaults(struct weir_conf_cache *cache);
void weir_conf__streaming_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  void *conf);
void weir_conf__routes_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf);
void weir_conf__headers_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                void *conf);
void weir_conf__auth_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             void *conf);
void weir_conf__audit_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              void *conf);
/* `input_check`, `output_check` and its bound, after the route was read. */
void weir_conf__check_timing(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             const struct weir_conf_route *route);
/* `target` is a struct weir_conf_canary. */
void weir_conf__canary_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *target);
/* `target` is a struct weir_conf_mask. */
void weir_conf__mask_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             void *target);
void weir_conf__cors_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             void *conf);
void weir_conf__limits_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf);

/* The whole document. */
void weir_conf__root(struct weir_conf_reader *r, const struct weir_conf_node *n);

/* Adds the chunker that always exists, where the file did not declare it. */
void weir_conf__add_whole_doc(struct weir_conf_reader *r);

/* A streaming policy that holds only what is written (a route's, a glob's). */
extern const struct weir_conf_object weir_conf__stream_policy;
void weir_conf__read_max_tokens(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                struct weir_conf_max_tokens *out);

/* `over` laid over `under`; NULL is nothing. */
struct weir_conf_stream_policy weir_conf__stream_lay(const struct weir_conf_stream_policy *under,
                                                     const struct weir_conf_stream_policy *over);

/* Defaults of sections that may be absent. */
void weir_conf__streaming_defaults(struct weir_conf_streaming *streaming);
void weir_conf__limits_defaults(struct weir_conf_limits *limits);

/* Providers, models and what routes say of them, together. */
void weir_conf__check_models(struct weir_conf_reader *r);

/* Checks that need the whole tree. */
void weir_conf__check(struct weir_conf_reader *r, const struct weir_conf_node *root);

/*
 * The node as compact JSON, member order kept, plain scalars typed by the core schema. The members
 * `without` (NULL: none; NULL after the last) of the outermost mapping are left out.
 */
struct weir_slice weir_conf__json(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  const char *const *without);

/* Physical memory, or the control group's limit when that is less. */
uint64_t weir_conf__system_memory(void);

/* Entries of `unguarded` that are paths (conf_paths.c): is it one, and all of a list that hold. */
bool weir_conf__is_path(const struct weir_conf_node *n);
struct weir_conf_list weir_conf__read_paths(struct weir_conf_reader *r,
                                            const struct weir_conf_node *n);

#endif
