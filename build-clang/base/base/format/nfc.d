build-clang/base/base/format/nfc.o: ref/base/format/nfc.c \
  ref/base/format/tokenizer.h ref/base/num/status.h \
  ref/base/format/tokenizer_parts.h

ref/base/format/tokenizer.h:

ref/base/num/status.h:

ref/base/format/tokenizer_parts.h:
