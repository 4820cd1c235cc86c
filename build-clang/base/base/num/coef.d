build-clang/base/base/num/coef.o: ref/base/num/coef.c ref/base/num/coef.h

ref/base/num/coef.h:
