build-clang/base/base/num/status.o: ref/base/num/status.c \
  ref/base/num/status.h

ref/base/num/status.h:
