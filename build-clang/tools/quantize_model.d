build-clang/tools/quantize_model.o: tools/quantize_model.c \
  tools/quantize.h ref/base/num/status.h ref/base/config/weights.h \
  ref/base/config/config.h ref/base/format/checkpoint.h \
  ref/base/format/safetensors.h ref/base/num/dtype.h \
  ref/base/format/matrix.h ref/base/format/json.h tools/mlx.h \
  ref/base/num/convert.h tools/staging.h

tools/quantize.h:

ref/base/num/status.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/format/matrix.h:

ref/base/format/json.h:

tools/mlx.h:

ref/base/num/convert.h:

tools/staging.h:
