build-clang/base/base/config/config.o: ref/base/config/config.c \
  ref/base/config/config.h ref/base/num/status.h ref/base/format/json.h

ref/base/config/config.h:

ref/base/num/status.h:

ref/base/format/json.h:
