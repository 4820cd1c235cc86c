build-clang/ref64/model/gdn_layer.o: ref/model/gdn_layer.c \
  ref/model/model.h ref/model/ref.h ref/base/case/op.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h ref/base/config/profile.h \
  ref/base/config/weights.h ref/base/config/config.h \
  ref/base/num/status.h ref/base/format/checkpoint.h \
  ref/base/format/safetensors.h ref/base/trace/trace.h ref/op/op.h

ref/model/model.h:

ref/model/ref.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/config/profile.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/num/status.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/trace/trace.h:

ref/op/op.h:
