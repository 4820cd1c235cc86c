build-clang/base/base/num/convert.o: ref/base/num/convert.c \
  ref/base/num/convert.h

ref/base/num/convert.h:
