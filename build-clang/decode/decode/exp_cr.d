build-clang/decode/decode/exp_cr.o: ref/decode/exp_cr.c \
  ref/decode/exp_cr.h ref/base/num/coef.h

ref/decode/exp_cr.h:

ref/base/num/coef.h:
