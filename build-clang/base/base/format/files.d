build-clang/base/base/format/files.o: ref/base/format/files.c \
  ref/base/format/files.h ref/base/num/status.h

ref/base/format/files.h:

ref/base/num/status.h:
