build-clang/decode/decode/sample.o: ref/decode/sample.c \
  ref/decode/sample.h ref/base/num/status.h ref/decode/exp_cr.h \
  ref/base/num/philox.h

ref/decode/sample.h:

ref/base/num/status.h:

ref/decode/exp_cr.h:

ref/base/num/philox.h:
