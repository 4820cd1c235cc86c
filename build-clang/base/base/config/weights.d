build-clang/base/base/config/weights.o: ref/base/config/weights.c \
  ref/base/config/weights.h ref/base/config/config.h \
  ref/base/num/status.h ref/base/format/checkpoint.h \
  ref/base/format/safetensors.h ref/base/num/dtype.h \
  ref/base/format/matrix.h ref/base/num/convert.h

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/num/status.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/format/matrix.h:

ref/base/num/convert.h:
