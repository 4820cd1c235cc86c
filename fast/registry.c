#include "schedule.h"

#include <pthread.h>
#include <string.h>

#include "cpu/isa.h"

/* One line per schedule that needs no isa, in order of preference: the engine takes the first that accepts. Those
 * that need one are listed in cpu/ISA/schedules.c and come first. */
#define TS_SCHEDULES(X)            \
    X(ts_exp_portable)             \
    X(ts_sigmoid_portable)         \
    X(ts_silu_portable)            \
    X(ts_softplus_portable)        \
    X(ts_rsqrt_portable)           \
    X(ts_residual_add_portable)    \
    X(ts_swiglu_portable)          \
    X(ts_sigmoid_gate_portable)    \
    X(ts_embed_portable)           \
    X(ts_rmsnorm_portable)         \
    X(ts_l2norm_portable)          \
    X(ts_gated_norm_portable)      \
    X(ts_conv1d_portable)          \
    X(ts_gdn_gates_portable)       \
    X(ts_gdn_step_portable)        \
    X(ts_gdn_chunk64_portable)     \
    X(ts_rope_portable)            \
    X(ts_kv_store_portable)        \
    X(ts_attention_portable)       \
    X(ts_matmul_dot32_portable)    \
    X(ts_quantize_a64_portable)    \
    X(ts_matmul_a64s8_portable)    \
    X(ts_rmsnorm_a64_portable)     \
    X(ts_gate_up_a64s8_portable)   \
    X(ts_qkv_conv_a64s8_portable)  \
    X(ts_grouped_conv_portable)    \
    X(ts_selector_scores_portable) \
    X(ts_top_slots_portable)

#define DECLARE(schedule) extern const ts_schedule schedule;
#define ADDRESS(schedule) &schedule,

TS_SCHEDULES(DECLARE)

static const ts_schedule *const portable[] = {TS_SCHEDULES(ADDRESS) NULL};

/* Elements that are worth a thread: waking one costs about as much as these. */
enum { GRAIN = 1 << 18, MOST = 512 };

/* Those that can run here, and those that cannot: the isas' before the portable ones. */
static const ts_schedule *present[MOST + 1], *absent[MOST + 1];
static int presents, absents;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void enlist(const ts_schedule *const *list)
{
    for (; *list; list++)
        if (!ts_isa_runs((*list)->isa))
            absent[absents++] = *list;
        else
            present[presents++] = *list;
}

static void enlist_all(void)
{
    for (int i = 0; ts_isas[i].name; i++)
        enlist(ts_isas[i].schedules);
    enlist(portable);
}

const ts_schedule *ts_schedule_at(int i)
{
    pthread_once(&once, enlist_all);
    return i >= 0 && i < presents ? present[i] : NULL;
}

const ts_schedule *ts_schedule_absent(int i)
{
    pthread_once(&once, enlist_all);
    return i >= 0 && i < absents ? absent[i] : NULL;
}

const ts_schedule *ts_schedule_find(const char *name)
{
    const ts_schedule *s;
    for (int i = 0; (s = ts_schedule_at(i)) != NULL; i++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

const ts_schedule *ts_schedule_pick(ts_op_id op, const char *profile, const void *args)
{
    const ts_schedule *s;
    for (int i = 0; (s = ts_schedule_at(i)) != NULL; i++)
        if (s->op == op && ts_schedule_serves(s, profile) && (!s->accepts || s->accepts(args)))
            return s;
    return NULL;
}

bool ts_schedule_exposes(const ts_schedule *s, const char *tensor)
{
    size_t len = strlen(tensor);
    for (const char *at = s->exposes; *at; at += strspn(at, ",")) {
        size_t n = strcspn(at, ",");
        if (n == len && memcmp(at, tensor, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/* Elements touched: fields without rows (weights, state) are swept once per row. */
static int64_t work(const ts_op *op, const void *args)
{
    int64_t rows = strcmp(op->dim[0].name, "T") == 0 ? ts_op_dim(op, args, "T") : 1, sum = 0;
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++) {
        const ts_field *f = &op->field[i];
        bool has_rows = f->dim[0] && strcmp(f->dim[0], "T") == 0;
        sum += ts_field_count(op, f, args) * (has_rows ? 1 : rows);
    }
    return sum;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void ts_schedule_run(const ts_schedule *s, const void *args, int threads)
{
    const ts_op *op = &ts_op_table[s->op];
    int64_t units = ts_op_units(op, args);
    int64_t n = threads > 1 ? least(least(threads, units), work(op, args) / GRAIN) : 1;
    if (n <= 1) {
        s->run(args, 0, units);
        return;
    }
#pragma omp parallel for num_threads((int)n) schedule(static)
    for (int64_t i = 0; i < n; i++)
        s->run(args, units * i / n, units * (i + 1) / n);
}
