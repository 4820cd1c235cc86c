#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cpu/isa.h"
#include "options.h"
#include "tool.h"

static const ts_command commands[] = {
    {"run", "generate text with one of the engines", ts_cmd_run},
    {"check", "is every schedule still the reference's function, bit for bit?", ts_cmd_check},
    {"trace", "write every tensor of a forward pass", ts_cmd_trace},
    {"diff", "the first tensor and element where two traces part", ts_cmd_diff},
    {"op", "one operation on your own tensors, with a model's weights", ts_cmd_op},
    {"layer", "one layer of a model on your own hidden states", ts_cmd_layer},
    {"inspect", "what a model folder or a file holds", ts_cmd_inspect},
    {"profiles", "what every profile computes: docs/profiles.md", ts_cmd_profiles},
    {"quantize", "write a checkpoint as MLX affine, 2 to 8 bits", ts_cmd_quantize},
    {"convert", "write a checkpoint as a GGUF file or as an MLX folder", ts_cmd_convert},
    {"synth", "write a model of true shapes with random weights", ts_cmd_synth},
    {"bench", "how fast is every schedule, beside what the machine and others can do?", ts_cmd_bench},
    {"stats", "acceptance of speculation: what was accepted, and do two records agree?", ts_cmd_stats},
    {"golden", "rewrite our own goldens", ts_cmd_golden},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *f)
{
    fprintf(f,
            "touchstone %s: the stone on which LLM kernels are tested\n\n"
            "usage: touchstone COMMAND [OPTIONS]   (COMMAND --help for its options)\n\n",
            TS_VERSION);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(f, "\nexit codes: 0 ok, 1 differs, 2 usage or missing tool, 3 bad input\n");
}

/* What was printed must have arrived, or the exit code says so. */
static int delivered(int code)
{
    return code == TS_OK || code == TS_DIFFERS ? (ts_tool_flush(false) ? TS_BAD : code) : code;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a file at its size limit are errors like a full disk */
    signal(SIGXFSZ, SIG_IGN);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage(stdout);
        return delivered(TS_OK);
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("touchstone " TS_VERSION);
        return delivered(TS_OK);
    }
    ts_error err = {0};
    if (ts_isa_check(&err) != TS_OK)
        return ts_tool_fail(TS_USAGE, &err, ts_wants_json(argc, argv));
    for (int i = 0; argc > 1 && i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return delivered(commands[i].run(argc - 1, argv + 1));
    if (argc > 1)
        fprintf(stderr, "touchstone: unknown command '%s'\n", argv[1]);
    usage(stderr);
    return TS_USAGE;
}
