build-clang/base/base/format/file.o: ref/base/format/file.c \
  ref/base/format/file.h ref/base/num/status.h ref/base/format/json.h

ref/base/format/file.h:

ref/base/num/status.h:

ref/base/format/json.h:
