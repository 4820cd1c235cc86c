build-clang/tools/check/external_ops.o: tools/check/external_ops.c \
  tools/check/external.h tools/check/check.h ref/base/case/case.h \
  ref/base/case/op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h ref/base/num/status.h \
  tools/check/report.h ref/base/config/profile.h \
  ref/base/config/weights.h ref/base/config/config.h \
  ref/base/format/checkpoint.h ref/base/format/safetensors.h \
  ref/base/format/json.h ref/model/ref.h ref/base/trace/trace.h

tools/check/external.h:

tools/check/check.h:

ref/base/case/case.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/status.h:

tools/check/report.h:

ref/base/config/profile.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/format/json.h:

ref/model/ref.h:

ref/base/trace/trace.h:
