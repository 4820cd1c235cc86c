build-clang/fast/engine_run.o: fast/engine_run.c fast/engine_internal.h \
  ref/base/case/op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h fast/engine.h \
  ref/base/config/profile.h ref/base/config/weights.h \
  ref/base/config/config.h ref/base/num/status.h \
  ref/base/format/checkpoint.h ref/base/format/safetensors.h \
  ref/base/trace/trace.h ref/base/num/convert.h fast/schedule.h

fast/engine_internal.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

fast/engine.h:

ref/base/config/profile.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/num/status.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/trace/trace.h:

ref/base/num/convert.h:

fast/schedule.h:
