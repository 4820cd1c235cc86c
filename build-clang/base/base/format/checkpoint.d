build-clang/base/base/format/checkpoint.o: ref/base/format/checkpoint.c \
  ref/base/format/checkpoint.h ref/base/format/safetensors.h \
  ref/base/num/dtype.h ref/base/num/status.h ref/base/format/json.h \
  ref/base/num/sha256.h

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/num/status.h:

ref/base/format/json.h:

ref/base/num/sha256.h:
