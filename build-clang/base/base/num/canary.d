build-clang/base/base/num/canary.o: ref/base/num/canary.c \
  ref/base/num/canary.h ref/base/num/status.h ref/base/num/convert.h

ref/base/num/canary.h:

ref/base/num/status.h:

ref/base/num/convert.h:
