build-clang/base/base/num/philox.o: ref/base/num/philox.c \
  ref/base/num/philox.h ref/base/num/coef.h

ref/base/num/philox.h:

ref/base/num/coef.h:
