#ifndef WEIR_DETECT_LINKS_H
#define WEIR_DETECT_LINKS_H

#include "detect/builtin.h"

/*
 * `links`: where a text would send its reader, or the reader's page by itself: `link` / kind.
 *
 *   url              http, https, ftp, ws, wss; www.… without a scheme scores 0.9, all else 1
 *   markdown_image   ![…](https://…), fetched without a click: the way data is carried out
 *   html_image       <img src=…>
 *   script_url       javascript:…, vbscript:… or data:text/html… as a link's target
 *
 *   {"allow": ["example.com", "*.cdn.example.net"]}   a host with all below it; *. only below it
 *
 * The host is what a browser would ask (detect/links_int.h). A finding is decided by what stands
 * before the address, at most 512 bytes of it, and by the address itself, at most 1,024 code
 * points.
 */
extern const struct weir_builtin_kind weir_detect_links;

#endif
