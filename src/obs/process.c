#include "obs/process.h"

#include "base/slice.h"
#include "obs/metric.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_BYTES = 4096 };

/* The beginning of a small file of /proc; empty when it cannot be read. */
static struct weir_slice read_file(const char *path, char out[FILE_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return (struct weir_slice){0};
    }
    ssize_t n = read(fd, out, FILE_BYTES);
    close(fd);
    return weir_slice_make(out, n > 0 ? (size_t)n : 0);
}

/* The number in column `at`, from 0. */
static double column(struct weir_slice line, int at)
{
    struct weir_slice value = weir_slice_cut(&line, ' ');
    for (int i = 0; i < at; i++) {
        value = weir_slice_cut(&line, ' ');
    }
    uint64_t v;
    return weir_slice_u64(value, &v) == 0 ? (double)v : (double)NAN;
}

/* Columns of /proc/self/stat as its manual counts them: 3 is the first behind the name. */
static double stat_column(int number)
{
    char text[FILE_BYTES];
    struct weir_slice all = read_file("/proc/self/stat", text);
    /* The name stands in parentheses and may itself contain any character. */
    const char *name_end = all.n != 0 ? memrchr(all.p, ')', all.n) : NULL;
    if (name_end == NULL) {
        return (double)NAN;
    }
    size_t from = (size_t)(name_end - all.p) + 1;
    return column(weir_slice_sub(all, from, all.n), number - 2); /* column 0 is empty */
}

static double memory_bytes(int at)
{
    char text[FILE_BYTES];
    return column(read_file("/proc/self/statm", text), at) * (double)sysconf(_SC_PAGESIZE);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec / 1e9 : (double)NAN;
}

static double read_cpu_seconds(void *ctx)
{
    (void)ctx;
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static double read_virtual_bytes(void *ctx)
{
    (void)ctx;
    return memory_bytes(0);
}

static double read_resident_bytes(void *ctx)
{
    (void)ctx;
    return memory_bytes(1);
}

static double read_threads(void *ctx)
{
    (void)ctx;
    return stat_column(20);
}

static double count_entries(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return (double)NAN;
    }
    double n = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    return n - 1; /* the one that was open for looking */
}

/* Newer kernels give the number as the folder's size; going through thousands takes long. */
static double read_open_fds(void *ctx)
{
    (void)ctx;
    struct stat st;
    if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0) {
        return (double)st.st_size;
    }
    return count_entries("/proc/self/fd");
}

static double read_max_fds(void *ctx)
{
    (void)ctx;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return (double)NAN;
    }
    return limit.rlim_cur == RLIM_INFINITY ? HUGE_VAL : (double)limit.rlim_cur;
}

/* Asked once: the wall clock may be set later, the start does not move with it. */
static double start_seconds;

static double read_start_seconds(void *ctx)
{
    return *(const double *)ctx;
}

static void declare_build_info(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_build_info",
        .help = "Always 1; the labels say what is running.",
        .type = WEIR_METRIC_GAUGE,
        .labels = {"version"},
    };
    struct weir_metric_family *f = weir_metric_declare(&def);
    weir_metric_set(weir_metric_gauge(f, WEIR_METRIC_LABELS(WEIR_SLICE(WEIR_VERSION))), 1);
}

void weir_process_declare_metrics(void)
{
    static const struct {
        struct weir_metric_def def;
        weir_metric_read_fn read;
    } all[] = {
        {{.name = "process_cpu_seconds_total",
          .help = "Total user and system CPU time spent in seconds.",
          .type = WEIR_METRIC_COUNTER},
         read_cpu_seconds},
        {{.name = "process_resident_memory_bytes",
          .help = "Resident memory size in bytes.",
          .type = WEIR_METRIC_GAUGE},
         read_resident_bytes},
        {{.name = "process_virtual_memory_bytes",
          .help = "Virtual memory size in bytes.",
          .type = WEIR_METRIC_GAUGE},
         read_virtual_bytes},
        {{.name = "process_open_fds",
          .help = "Number of open file descriptors.",
          .type = WEIR_METRIC_GAUGE},
         read_open_fds},
        {{.name = "process_max_fds",
          .help = "Maximum number of open file descriptors.",
          .type = WEIR_METRIC_GAUGE},
         read_max_fds},
        {{.name = "process_threads", .help = "Number of threads.", .type = WEIR_METRIC_GAUGE},
         read_threads},
        {{.name = "process_start_time_seconds",
          .help = "Start time of the process since the Unix epoch in seconds.",
          .type = WEIR_METRIC_GAUGE},
         read_start_seconds},
    };
    double since_boot = stat_column(22) / (double)sysconf(_SC_CLK_TCK);
    start_seconds = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) + since_boot;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        weir_metric_callback(weir_metric_declare(&all[i].def), WEIR_METRIC_NO_LABELS, all[i].read,
                             &start_seconds);
    }
    declare_build_info();
}
