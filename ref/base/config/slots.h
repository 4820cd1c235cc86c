/* Private to config: which tensors a layer of a model has, of what shape, and where they go. */
#ifndef TS_CONFIG_SLOTS_H
#define TS_CONFIG_SLOTS_H

#include "config/weights.h"

typedef enum {
    TS_PLACE_ENDS,    /* embed, head, final norm */
    TS_PLACE_EVERY,   /* every layer */
    TS_PLACE_GDN,     /* Gated DeltaNet, Qwen3.5's and Qwen3-Next's */
    TS_PLACE_SPLIT,   /* of it, Qwen3.5's in_qkv and in_z, which some files of Qwen3-Next have too */
    TS_PLACE_GROUPED, /* and Qwen3-Next's own in_qkvz */
    TS_PLACE_PAIR,    /* in_b and in_a of Qwen3.5 */
    TS_PLACE_JOINT,   /* in_ba of Qwen3-Next */
    TS_PLACE_KDA,
    TS_PLACE_GATED, /* gated attention */
    TS_PLACE_MLA,
    TS_PLACE_DENSE,
    TS_PLACE_SPARSE,
    TS_PLACE_BIASED,  /* sparse, with a bias of the router */
    TS_PLACE_SHARED,  /* sparse, with a shared expert that has a gate */
    TS_PLACE_UNGATED, /* or none */
} ts_place;

typedef struct {
    const char *role;  /* the name of the field */
    const char *name;  /* in the file: of a matrix without ".weight", of a vector whole */
    const char *other; /* what some files call it, or NULL */
    ts_place place;
    int64_t (*N)(const ts_config *), (*K)(const ts_config *); /* K: NULL of a vector */
    size_t offset;                                            /* in ts_layer, or in ts_weights for the ends */
} ts_slot;

/* All slots, matrices first; NULL past the last. */
const ts_slot *ts_slot_at(size_t i);
/* Does that layer have it? -1: do the ends? */
bool ts_slot_lies_in(const ts_weights *w, const ts_slot *s, int64_t layer);
void *ts_slot_field(const ts_weights *w, const ts_slot *s, int64_t layer);

#endif
