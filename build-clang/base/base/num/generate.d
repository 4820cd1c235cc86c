build-clang/base/base/num/generate.o: ref/base/num/generate.c \
  ref/base/num/generate.h ref/base/num/status.h ref/base/num/convert.h \
  ref/base/num/philox.h

ref/base/num/generate.h:

ref/base/num/status.h:

ref/base/num/convert.h:

ref/base/num/philox.h:
