build-clang/base/base/num/rope_table.o: ref/base/num/rope_table.c \
  ref/base/num/rope_table.h ref/base/num/coef.h

ref/base/num/rope_table.h:

ref/base/num/coef.h:
