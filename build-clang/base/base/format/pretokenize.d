build-clang/base/base/format/pretokenize.o: ref/base/format/pretokenize.c \
  ref/base/format/tokenizer_parts.h ref/base/num/status.h

ref/base/format/tokenizer_parts.h:

ref/base/num/status.h:
