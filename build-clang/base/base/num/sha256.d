build-clang/base/base/num/sha256.o: ref/base/num/sha256.c \
  ref/base/num/sha256.h ref/base/num/status.h

ref/base/num/sha256.h:

ref/base/num/status.h:
