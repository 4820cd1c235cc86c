build-clang/fast/cpu/portable/kv_store.o: fast/cpu/portable/kv_store.c \
  fast/schedule.h ref/base/case/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/num/real.h \
  ref/base/num/convert.h

fast/schedule.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/convert.h:
