build-clang/base/base/format/split_regex.o: ref/base/format/split_regex.c \
  ref/base/format/tokenizer_parts.h ref/base/num/status.h

ref/base/format/tokenizer_parts.h:

ref/base/num/status.h:
