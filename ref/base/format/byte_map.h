/* The GPT-2 byte-to-character map of byte-level BPE vocabularies. */
#ifndef TS_FORMAT_BYTE_MAP_H
#define TS_FORMAT_BYTE_MAP_H

#include <stdint.h>

/* The code point that stands for each byte. */
extern const uint16_t ts_byte_map[256];

#endif
