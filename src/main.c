#include "app/args.h"
#include "app/audit.h"
#include "app/check.h"
#include "app/serve.h"
#include "detect/xsd.h"
#include "offline/detect.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int run(const struct weir_args *args)
{
    switch (args->command) {
    case WEIR_ARGS_HELP:
    case WEIR_ARGS_VERSION:
        fputs(args->output, stdout);
        return 0;
    case WEIR_ARGS_SERVE:
        return args->check_config ? weir_serve_check_config(args) : weir_serve(args);
    case WEIR_ARGS_DETECT:
        return weir_detect_run(args);
    case WEIR_ARGS_AUDIT:
        return weir_audit_command(args);
    case WEIR_ARGS_CHECK_SERVICES:
        return weir_check_services(args);
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], WEIR_XSD_COMMAND) == 0) {
        weir_xsd_serve();
    }
    struct weir_args_input input = {.argc = argc,
                                    .argv = argv,
                                    .env = weir_conf_env_process,
                                    .is_terminal = isatty(STDERR_FILENO) == 1};
    struct weir_args args = {0};
    int status = WEIR_ARGS_EXIT_USAGE;
    if (weir_args_parse(&input, &args) != 0) {
        fputs(args.message, stderr);
        if (args.command == WEIR_ARGS_DETECT) {
            status = 1; /* its 2 means that something was found */
        }
    } else {
        status = run(&args);
    }
    weir_args_dispose(&args);
    return status;
}
