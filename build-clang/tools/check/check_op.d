build-clang/tools/check/check_op.o: tools/check/check_op.c \
  tools/check/bound.h ref/base/case/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/num/real.h \
  ref/base/num/status.h tools/check/call.h ref/base/case/case.h \
  tools/check/check.h tools/check/report.h ref/base/config/profile.h \
  ref/base/config/weights.h ref/base/config/config.h \
  ref/base/format/checkpoint.h ref/base/format/safetensors.h \
  ref/base/num/convert.h ref/base/num/sha256.h ref/model/ref.h \
  ref/base/trace/trace.h fast/schedule.h

tools/check/bound.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/status.h:

tools/check/call.h:

ref/base/case/case.h:

tools/check/check.h:

tools/check/report.h:

ref/base/config/profile.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/num/convert.h:

ref/base/num/sha256.h:

ref/model/ref.h:

ref/base/trace/trace.h:

fast/schedule.h:
