/* How Hugging Face and GGUF name the same tensor, and what conversion does to its
 * values: the text models, and DFlash drafters. MLX names are Hugging Face's behind "language_model.", its changes
 * PLUS_ONE and the order of conv1d's axes. */
#ifndef TS_CONFIG_NAMES_H
#define TS_CONFIG_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/config.h"

/* Whose names: a set of one, but for a row of the table, which may be of several. */
typedef enum {
    TS_NAMES_QWEN35 = 1, /* qwen35, qwen35moe */
    TS_NAMES_NEXT = 2,   /* qwen3next */
    TS_NAMES_KIMI = 4,   /* kimi-linear */
    TS_NAMES_DFLASH = 8, /* dflash */
} ts_name_set;

/* From Hugging Face to GGUF. */
typedef enum {
    TS_CHANGE_NONE,
    TS_CHANGE_PLUS_ONE, /* w -> 1 + w */
    TS_CHANGE_RATE,     /* A_log -> -exp(A_log) */
    TS_CHANGE_SQUEEZE,  /* [CD,1,W] -> [CD,W] */
    TS_CHANGE_FLAT,     /* [1,C] -> [C] */
    TS_CHANGE_FOUR,     /* [P,1,W] -> [1,P,1,W] */
    TS_CHANGE_TURN,     /* of every head: [Dn,rank] -> [rank,Dn] */
} ts_name_change;

/* What becomes tiled, in architectures that tile: value head h = g * r + s (r = Hv / Hk) goes to s * Hk + g. */
typedef enum {
    TS_TILE_NONE,
    TS_TILE_ROWS,   /* all rows (or elements) */
    TS_TILE_VALUES, /* rows from 2 * Hk * Dk on */
    TS_TILE_COLUMNS,
} ts_name_tile;

typedef enum { TS_NAME_LAYER, TS_NAME_END, TS_NAME_MTP } ts_name_place;

typedef struct {
    int of; /* of ts_name_set, joined */
    ts_name_place place;
    const char *hf, *gguf; /* both without ".weight", which both have */
    bool bare;             /* or hf has not, and gguf is all of the name */
    ts_name_change change;
    ts_name_tile tile;
} ts_name;

/* The i-th row of the table, or NULL past the last. */
const ts_name *ts_name_at(size_t i);
/* By Hugging Face's name without prefix ("mlp.up_proj", with or without ".weight"), or NULL. */
const ts_name *ts_name_find(ts_name_set of, ts_name_place place, const char *hf);
/* By GGUF's ("ffn_up", with or without ".weight"), or NULL. */
const ts_name *ts_name_of_gguf(ts_name_set of, ts_name_place place, const char *gguf);

/* Those of a model or drafter. */
ts_name_set ts_names_of(const ts_config *c);

/* The tensor in a GGUF file, "blk.<layer>." before it if layer >= 0. A name that the table lacks stays as it is. */
void ts_name_gguf(ts_name_set of, ts_name_place place, int64_t layer, const char *hf, char *out, size_t size);

#endif
