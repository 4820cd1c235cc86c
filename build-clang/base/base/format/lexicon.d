build-clang/base/base/format/lexicon.o: ref/base/format/lexicon.c \
  ref/base/format/tokenizer_parts.h ref/base/num/status.h

ref/base/format/tokenizer_parts.h:

ref/base/num/status.h:
