/* Times the host engine, as llama_peer times llama.cpp.
 *
 * usage: touchstone_peer MODEL-FOLDER THREADS PREFILL DECODE
 * Lines on stdin and answers as of llama_peer. */
#include <stdio.h>

#include "engine.h"
#include "peer.h"

typedef struct {
    ts_weights *w;
    ts_engine *engine;
    float *logits;
    int32_t *ids;
    int prefill, decode;
} peer;

static void die(const ts_error *err)
{
    char text[1024];
    fprintf(stderr, "touchstone_peer: %s\n", ts_error_text(err, text, sizeof text));
    exit(2);
}

static void step(const peer *p, const int32_t *ids, int n)
{
    ts_error err = {0};
    if (ts_engine_forward(p->engine, ids, n, 1, p->logits, NULL, &err))
        die(&err);
}

static void answer_times(const peer *p)
{
    for (int i = 0; i < p->prefill; i++)
        p->ids[i] = ts_peer_id(i);
    ts_engine_reset(p->engine);
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
        die(&(ts_error){.reason = "no ids"});
    ts_engine_reset(p->engine);
    step(p, p->ids, n);
    for (int i = 0; i < p->decode; i++) {
        int32_t id = ts_peer_best(p->logits, (int32_t)p->w->cfg.V);
        printf("%s%d", i ? " " : "", id);
        step(p, &id, 1);
    }
    puts("");
}

static void open_model(peer *p, const char *dir, int threads)
{
    ts_error err = {0};
    const ts_engine_options o = {.threads = threads, .capacity = p->prefill + p->decode};
    if (ts_weights_load(dir, &p->w, &err) || ts_engine_new(p->w, ts_profile_find("ts"), &o, &p->engine, &err))
        die(&err);
    p->logits = malloc((size_t)p->w->cfg.V * sizeof *p->logits);
    p->ids = malloc((size_t)p->prefill * sizeof *p->ids);
    if (!p->logits || !p->ids)
        die(&(ts_error){.reason = "out of memory"});
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    peer p = {.prefill = argc == 5 ? atoi(argv[3]) : 0, .decode = argc == 5 ? atoi(argv[4]) : 0};
    if (p.prefill < 1 || p.decode < 1 || atoi(argv[2]) < 1)
        die(&(ts_error){.reason = "usage: touchstone_peer MODEL-FOLDER THREADS PREFILL DECODE"});
    open_model(&p, argv[1], atoi(argv[2]));
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == '\n')
            answer_times(&p);
        else
            answer_ids(&p, line);
        fflush(stdout);
    }
    free(p.ids);
    free(p.logits);
    ts_engine_free(p.engine);
    ts_weights_free(p.w);
    return 0;
}
