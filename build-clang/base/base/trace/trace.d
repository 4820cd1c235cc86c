build-clang/base/base/trace/trace.o: ref/base/trace/trace.c \
  ref/base/trace/trace.h ref/base/format/safetensors.h \
  ref/base/num/dtype.h ref/base/num/status.h ref/base/format/json.h

ref/base/trace/trace.h:

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/num/status.h:

ref/base/format/json.h:
