/* Random bytes, and the weights made of them in place. Integers, products and one rounding: the same bytes on
 * every machine. */
#include <string.h>

#include "num/convert.h"
#include "num/philox.h"
#include "synth/synth.h"

enum { BLOCK = 16, Q4_K_BYTES = 144, Q6_K_BYTES = 210 };

/* counter = (block lo, block hi, purpose, stream), 16 bytes a block, words in little-endian order. */
static void draw(uint64_t seed, uint32_t stream, uint64_t offset, uint8_t *y, size_t size)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (size_t i = 0; i < size; i += BLOCK) {
        uint64_t b = (offset + i) / BLOCK;
        const uint32_t counter[4] = {(uint32_t)b, (uint32_t)(b >> 32), TS_DRAW_SYNTH, stream};
        uint32_t x[4];
        ts_philox(counter, key, x);
        memcpy(y + i, x, size - i < BLOCK ? size - i : BLOCK);
    }
}

static float bf16_value(const ts_synth_tensor *t, uint16_t h)
{
    switch (t->make) {
    case TS_MAKE_SCALES:
    case TS_MAKE_BIASES: {
        float s = t->spread * (0.75f + (float)(h >> 1) * 0x1p-16f);
        s = ts_bf16_to_f32(ts_f32_to_bf16(h & 1 ? -s : s));
        return t->make == TS_MAKE_SCALES ? s : -t->centre * s;
    }
    default:
        return t->centre + t->spread * ((float)(2 * (int32_t)h - 65535) * 0x1p-16f);
    }
}

static void to_bf16(const ts_synth_tensor *t, uint8_t *y, size_t size)
{
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint16_t h;
        memcpy(&h, y + i, sizeof h);
        h = ts_f32_to_bf16(bf16_value(t, h));
        memcpy(y + i, &h, sizeof h);
    }
}

static void to_f32(const ts_synth_tensor *t, uint8_t *y, size_t size)
{
    for (size_t i = 0; i + 3 < size; i += 4) {
        uint32_t w;
        memcpy(&w, y + i, sizeof w);
        float x = t->centre + t->spread * ((float)(2 * (int32_t)(w >> 8) - 0xffffff) * 0x1p-24f);
        memcpy(y + i, &x, sizeof x);
    }
}

/* Any code and any 6- or 8-bit scale is valid: only the f16 scales of the block are put right. */
static void put_f16(uint8_t *y, size_t size, size_t block, size_t at, float x)
{
    uint16_t h = ts_f32_to_f16(x);
    for (size_t i = 0; i + block <= size; i += block)
        memcpy(y + i + at, &h, sizeof h);
}

void ts_synth_fill(const ts_synth_tensor *t, uint64_t seed, uint64_t offset, void *piece, size_t size)
{
    draw(seed, t->stream, offset, piece, size);
    switch (t->make) {
    case TS_MAKE_BITS:
        break;
    case TS_MAKE_F32:
        to_f32(t, piece, size);
        break;
    case TS_MAKE_BF16:
    case TS_MAKE_SCALES:
    case TS_MAKE_BIASES:
        to_bf16(t, piece, size);
        break;
    case TS_MAKE_Q4_K: /* d*sc*q - dmin*m of uniform sc, m < 64 and q < 16: mean 0, standard deviation 258 d */
        put_f16(piece, size, Q4_K_BYTES, 0, t->spread / 258);
        put_f16(piece, size, Q4_K_BYTES, 2, t->spread / 258 * 7.5f);
        break;
    case TS_MAKE_Q6_K: /* d*sc*q of uniform 8-bit sc and q in -32..31: 1365 d */
        put_f16(piece, size, Q6_K_BYTES, Q6_K_BYTES - 2, t->spread / 1365);
        break;
    }
}
