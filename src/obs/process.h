#ifndef WEIR_OBS_PROCESS_H
#define WEIR_OBS_PROCESS_H

/*
 * What the process itself is like, under the names every Prometheus dashboard knows: CPU seconds,
 * memory, descriptors, threads, start time; and weir_build_info. All of it is read when asked for.
 */

/* Declares the families. A value that cannot be read from the system is shown as NaN. */
void weir_process_declare_metrics(void);

#endif
