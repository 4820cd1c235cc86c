build-clang/base/base/format/bpe.o: ref/base/format/bpe.c \
  ref/base/format/tokenizer_parts.h ref/base/num/status.h

ref/base/format/tokenizer_parts.h:

ref/base/num/status.h:
