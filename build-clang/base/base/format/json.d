build-clang/base/base/format/json.o: ref/base/format/json.c \
  ref/base/format/json.h ref/base/num/status.h ref/base/format/file.h

ref/base/format/json.h:

ref/base/num/status.h:

ref/base/format/file.h:
