build-clang/decode/decode/generate.o: ref/decode/generate.c \
  ref/decode/generate.h ref/base/config/config.h ref/base/num/status.h \
  ref/decode/sample.h

ref/decode/generate.h:

ref/base/config/config.h:

ref/base/num/status.h:

ref/decode/sample.h:
