/* Times llama.cpp on a GGUF, from a prebuilt libllama that is loaded at run time: there are no headers of it, so
 * the few prototypes are declared here, for the release whose version string is checked.
 *
 * usage: llama_peer LIBRARY-FOLDER RELEASE model.gguf THREADS PREFILL DECODE
 * Loads once. An empty line on stdin is answered with "prefill-seconds decode-seconds" of one run; a line of ids
 * with the DECODE greedy ids that follow them, which shows that it is the model that runs. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* Its parameter structs, of which only the first member is set. They go by value, in memory, as the last argument:
 * one that is larger than the callee's does no harm on x86-64. */
typedef struct {
    uint32_t first[4]; /* context: n_ctx, n_batch, n_ubatch, n_seq_max */
    uint64_t rest[62];
} params;

typedef struct {
    int32_t n_tokens;
    int32_t *token;
    float *embd;
    int32_t *pos, *n_seq_id, **seq_id;
    int8_t *logits;
} batch;

typedef struct {
    void *ggml, *llama;
    const char *(*version)(void);
    void (*load_all)(const char *folder);
    void (*log_set)(void (*log)(int, const char *, void *), void *);
    params (*model_params)(void), (*context_params)(void);
    void *(*load)(const char *path, params p);
    void *(*context)(void *model, params p);
    const void *(*vocab)(const void *model);
    int32_t (*n_tokens)(const void *vocab);
    void (*set_threads)(void *context, int32_t decode, int32_t prefill);
    uint32_t (*n_ctx)(const void *context), (*n_batch)(const void *context);
    void *(*memory)(const void *context);
    void (*clear)(void *memory, bool data);
    batch (*one)(int32_t *tokens, int32_t n);
    int32_t (*decode)(void *context, batch b);
    void (*synchronize)(void *context);
    float *(*logits)(void *context, int32_t i);
} library;

typedef struct {
    library l;
    void *context;
    int32_t V, *ids;
    int prefill, decode;
} peer;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "llama_peer: %s: %s\n", what, why);
    exit(2);
}

static void quiet(int level, const char *text, void *data)
{
    (void)data;
    if (level == 4) /* an error */
        fputs(text, stderr);
}

/* dlsym gives an object pointer; POSIX says that its bits are the function's. */
static void look_up(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);
    if (!address)
        die(name, "not in the library");
    memcpy(function, &address, sizeof address);
}

static void *open_library(const char *folder, const char *name, const char *release)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s.so", folder, name, release);
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle)
        die(path, dlerror());
    return handle;
}

static void load_library(library *l, const char *folder, const char *release)
{
    l->ggml = open_library(folder, "libggml", release);
    l->llama = open_library(folder, "libllama", release);
    look_up(l->ggml, "ggml_backend_load_all_from_path", &l->load_all);
    const struct {
        const char *name;
        void *function;
    } want[] = {
        {"llama_version", &l->version},
        {"llama_log_set", &l->log_set},
        {"llama_model_default_params", &l->model_params},
        {"llama_context_default_params", &l->context_params},
        {"llama_model_load_from_file", &l->load},
        {"llama_init_from_model", &l->context},
        {"llama_model_get_vocab", &l->vocab},
        {"llama_vocab_n_tokens", &l->n_tokens},
        {"llama_set_n_threads", &l->set_threads},
        {"llama_n_ctx", &l->n_ctx},
        {"llama_n_batch", &l->n_batch},
        {"llama_get_memory", &l->memory},
        {"llama_memory_clear", &l->clear},
        {"llama_batch_get_one", &l->one},
        {"llama_decode", &l->decode},
        {"llama_synchronize", &l->synchronize},
        {"llama_get_logits_ith", &l->logits},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        look_up(l->llama, want[i].name, want[i].function);
    l->log_set(quiet, NULL);
    l->load_all(folder);
}

/* The layout is the one declared above, or nothing is run. */
static void check_layout(const library *l, const char *release)
{
    const params p = l->context_params();
    const char *version = l->version(), *number = release + (release[0] == 'v'); /* "0.5.0-dev" of v0.5.0 */
    if (strncmp(version, number, strlen(number)) != 0)
        die(version, "not the release that was asked for");
    if (p.first[0] != 512 || p.first[1] != 2048 || p.first[2] != 512 || p.first[3] != 1)
        die(version, "llama_context_params has another layout");
}

static void open_model(peer *p, const char *path, int threads)
{
    const library *l = &p->l;
    const uint32_t room = (uint32_t)(p->prefill + p->decode);
    void *model = l->load(path, l->model_params());
    if (!model)
        die(path, "cannot be loaded");
    params c = l->context_params();
    c.first[0] = room;
    p->context = l->context(model, c);
    if (!p->context)
        die(path, "no context");
    if (l->n_ctx(p->context) < room || l->n_batch(p->context) < (uint32_t)p->prefill)
        die(path, "the context is smaller than asked for");
    p->V = l->n_tokens(l->vocab(model));
    l->set_threads(p->context, threads, threads);
}

static void step(const peer *p, int32_t *ids, int n)
{
    if (p->l.decode(p->context, p->l.one(ids, n)) != 0)
        die("llama_decode", "failed");
    p->l.synchronize(p->context);
}

static void answer_times(const peer *p)
{
    for (int i = 0; i < p->prefill; i++)
        p->ids[i] = ts_peer_id(i);
    p->l.clear(p->l.memory(p->context), true);
    double start = ts_peer_now();
    step(p, p->ids, p->prefill);
    double between = ts_peer_now();
    for (int i = 0; i < p->decode; i++)
        step(p, &p->ids[i % p->prefill], 1);
    printf("%.6f %.6f\n", between - start, ts_peer_now() - between);
}

static void answer_ids(const peer *p, char *line)
{
    int n = ts_peer_ids(line, p->ids, p->prefill);
    if (n == 0)
        die("ids", "none");
    p->l.clear(p->l.memory(p->context), true);
    step(p, p->ids, n);
    for (int i = 0; i < p->decode; i++) {
        int32_t id = ts_peer_best(p->l.logits(p->context, -1), p->V);
        printf("%s%d", i ? " " : "", id);
        step(p, &id, 1);
    }
    puts("");
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    peer p = {.context = NULL};
    if (argc != 7)
        die("usage", "llama_peer LIBRARY-FOLDER RELEASE model.gguf THREADS PREFILL DECODE");
    p.prefill = atoi(argv[5]);
    p.decode = atoi(argv[6]);
    if (atoi(argv[4]) < 1 || p.prefill < 1 || p.prefill > 2048 || p.decode < 1)
        die("usage", "THREADS, DECODE at least 1, PREFILL 1 to 2048");
    load_library(&p.l, argv[1], argv[2]);
    check_layout(&p.l, argv[2]);
    open_model(&p, argv[3], atoi(argv[4]));
    p.ids = malloc((size_t)p.prefill * sizeof *p.ids);
    if (!p.ids)
        die("ids", "out of memory");
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == '\n')
            answer_times(&p);
        else
            answer_ids(&p, line);
        fflush(stdout);
    }
    free(p.ids);
    return 0;
}
