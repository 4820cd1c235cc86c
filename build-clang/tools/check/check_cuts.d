build-clang/tools/check/check_cuts.o: tools/check/check_cuts.c \
  tools/check/check_cuts.h tools/check/call.h ref/base/case/case.h \
  ref/base/case/op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h ref/base/num/status.h \
  tools/check/check.h tools/check/report.h ref/base/config/profile.h \
  ref/base/config/weights.h ref/base/config/config.h \
  ref/base/format/checkpoint.h ref/base/format/safetensors.h \
  fast/schedule.h tools/compare.h ref/model/ref.h ref/base/trace/trace.h

tools/check/check_cuts.h:

tools/check/call.h:

ref/base/case/case.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/status.h:

tools/check/check.h:

tools/check/report.h:

ref/base/config/profile.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

fast/schedule.h:

tools/compare.h:

ref/model/ref.h:

ref/base/trace/trace.h:
