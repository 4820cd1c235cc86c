build-clang/base/base/num/dtype.o: ref/base/num/dtype.c \
  ref/base/num/dtype.h ref/base/num/convert.h

ref/base/num/dtype.h:

ref/base/num/convert.h:
