#ifndef WEIR_SERVER_NOTIFY_H
#define WEIR_SERVER_NOTIFY_H

#include <stdint.h>

/*
 * Tells systemd (Type=notify) what the server does: one datagram to the socket that NOTIFY_SOCKET
 * names, a path or, with a leading @, an abstract name. Without the variable nothing happens. A
 * datagram that cannot be sent is logged and costs nothing else: it never blocks.
 *
 *   ready ─► reloading ─► ready ─► … ─► stopping
 */
void weir_notify_ready(void); /* started, or done with a reload, refused ones included */
void weir_notify_reloading(void);
void weir_notify_stopping(uint64_t drain_ms); /* systemd is to wait as long, and a little longer */

#endif
