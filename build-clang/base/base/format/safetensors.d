build-clang/base/base/format/safetensors.o: ref/base/format/safetensors.c \
  ref/base/format/safetensors.h ref/base/num/dtype.h \
  ref/base/num/status.h ref/base/format/file.h ref/base/format/json.h

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/num/status.h:

ref/base/format/file.h:

ref/base/format/json.h:
