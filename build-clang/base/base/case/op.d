build-clang/base/base/case/op.o: ref/base/case/op.c ref/base/case/op.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:
