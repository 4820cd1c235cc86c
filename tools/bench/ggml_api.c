#include "bench/ggml_api.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dynamic.h"
#include "rehearse.h"

#define FUNCTION(symbol, member)              \
    {                                         \
        symbol, offsetof(ts_ggml_api, member) \
    }
#define GGML(member) FUNCTION("ggml_" #member, member)

static const struct {
    const char *name;
    size_t at;
} functions[] = {
    GGML(backend_score),
    GGML(backend_init),
    GGML(backend_cpu_init),
    GGML(backend_cpu_set_n_threads),
    GGML(backend_cpu_buffer_type),
    GGML(backend_reg_dev_get),
    GGML(backend_reg_get_proc_address),
    GGML(backend_dev_supports_op),
    GGML(backend_buft_name),
    GGML(backend_alloc_ctx_tensors_from_buft),
    GGML(backend_buffer_free),
    GGML(backend_tensor_set),
    GGML(backend_tensor_get),
    GGML(backend_graph_compute),
    GGML(backend_free),
    GGML(log_set),
    GGML(init),
    GGML(free),
    GGML(tensor_overhead),
    GGML(graph_overhead_custom),
    GGML(new_tensor_2d),
    GGML(mul_mat),
    GGML(new_graph_custom),
    GGML(build_forward_expand),
    GGML(row_size),
    GGML(quantize_chunk),
    GGML(vec_dot_q4_K_q8_K),
    FUNCTION("quantize_row_q8_K", quantize_row_q8_K),
};

static ts_status resolve(void *library, const char *path, ts_ggml_api *api, ts_error *err)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        ts_function f;
        ts_status s = ts_dynamic_function(library, path, functions[i].name, &f, err);
        if (s)
            return s;
        memcpy((char *)api + functions[i].at, &f, sizeof f);
    }
    return TS_OK;
}

/* 0: cannot run here, or no variant at all. */
static int score(const char *path)
{
    void *library = NULL;
    ts_function f;
    int value = 0;
    if (ts_dynamic_open(path, &library, NULL) == TS_OK &&
        ts_dynamic_function(library, path, "ggml_backend_score", &f, NULL) == TS_OK)
        value = ((int (*)(void))f)();
    ts_dynamic_close(library);
    return value;
}

static ts_status best_variant(const char *folder, char best[64], ts_error *err)
{
    char path[512];
    int most = 0;
    const struct dirent *e;
    DIR *d = opendir(folder);
    if (!d)
        return ts_fail(err, TS_BAD, folder, NULL, "%s", strerror(errno));
    while ((e = readdir(d)) != NULL) {
        size_t n = strlen(e->d_name);
        if (strncmp(e->d_name, "libggml-cpu-", 12) != 0 || n < 3 || strcmp(e->d_name + n - 3, ".so") != 0 ||
            n >= 64)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        int value = score(path);
        if (value > most) {
            most = value;
            memcpy(best, e->d_name, n + 1);
        }
    }
    closedir(d);
    return most > 0 ? TS_OK
                    : ts_fail(err, TS_BAD, folder, "libggml-cpu-*.so", "no ggml that runs on this CPU is in it");
}

typedef struct {
    const char *folder;
    ts_ggml_api *api;
    void **library;
    char *variant;
    ts_error *err;
    ts_status status;
} attempt;

static void load(void *context)
{
    attempt *a = context;
    char path[512];
    snprintf(path, sizeof path, "%s/libggml-base.so", a->folder);
    a->status = ts_dynamic_open(path, &a->library[0], a->err);
    if (!a->status)
        a->status = best_variant(a->folder, a->variant, a->err);
    snprintf(path, sizeof path, "%s/%s", a->folder, a->variant);
    if (!a->status)
        a->status = ts_dynamic_open(path, &a->library[1], a->err);
    if (!a->status)
        a->status = resolve(a->library[1], path, a->api, a->err);
}

ts_status ts_ggml_api_open(const char *folder, ts_ggml_api *api, void *library[2], char variant[64], ts_error *err)
{
    attempt a = {.folder = folder, .api = api, .library = library, .variant = variant, .err = err};
    char text[128];
    if (strlen(folder) > 400)
        return ts_fail(err, TS_BAD, NULL, "--peer-ggml", "the path is too long");
    if (ts_rehearse(load, &a, 60, text, sizeof text)) /* a truncated file is a bus error in dlopen */
        return ts_fail(err, TS_BAD, folder, NULL, "loading it %s", text);
    load(&a);
    return a.status;
}
