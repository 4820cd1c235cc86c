build-clang/base/base/format/tokenizer_rules.o: \
  ref/base/format/tokenizer_rules.c ref/base/format/json.h \
  ref/base/num/status.h ref/base/format/tokenizer_parts.h

ref/base/format/json.h:

ref/base/num/status.h:

ref/base/format/tokenizer_parts.h:
